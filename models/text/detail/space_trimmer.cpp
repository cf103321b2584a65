#include "models/text/detail/space_trimmer.h"

#include <algorithm>
#include <utility>

#include "models/text/detail/byte_characters.h"
#include "models/text/detail/unicode.h"
#include "models/text/utf8.h"
#include "tensor/io/detail/utf8.h"

namespace tessera::text {

namespace {

/// The place `count` characters after `at`, at most `end`.
index_t forward(std::string_view text, index_t at, index_t count, index_t end) {
  for (; count > 0 && at < end; --count) {
    do {
      ++at;
    } while (at < end && continues_code_point(text, at));
  }
  return at;
}

/// The place `count` characters before `at`, at least `begin`.
index_t back(std::string_view text, index_t at, index_t count, index_t begin) {
  for (; count > 0 && at > begin; --count) {
    do {
      --at;
    } while (at > begin && continues_code_point(text, at));
  }
  return at;
}

/// Many tokens may come from the same long part of a text: unknown bytes.
struct Trimmed {
  Span before = {-1, -1};
  Span after = {};
};

}  // namespace

SpaceTrimmer::SpaceTrimmer(std::vector<PostProcessor::Trim> trims, const TokenList& tokens)
    : trims_(std::move(trims)) {
  if (trims_.empty()) return;
  blanks_.reserve(static_cast<std::size_t>(tokens.size()));
  for (index_t id = 0; id < tokens.size(); ++id) blanks_.push_back(blanks_of(tokens[id]));
}

SpaceTrimmer::Blanks SpaceTrimmer::blanks_of(std::string_view token) {
  Blanks blanks;
  bool only = true;  // blanks so far
  for (std::size_t at = 0; at < token.size();) {
    const std::size_t size = std::max<std::size_t>(detail::code_point_size(token.substr(at)), 1);
    const bool blank =
        token.substr(at, size) == character_of_byte(' ') || is_space(code_point_at(token, at));
    only = only && blank;
    blanks.left += only ? 1 : 0;
    blanks.right = blank ? blanks.right + 1 : 0;
    at += size;
  }
  return blanks;
}

void SpaceTrimmer::apply(std::string_view text, std::span<Piece> pieces,
                         const AddedTokens& added) const {
  for (const PostProcessor::Trim& trim : trims_) {
    Trimmed last;
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      Span& bytes = pieces[i].bytes;
      Blanks blanks = blanks_[static_cast<std::size_t>(pieces[i].id)];
      const AddedToken* const token = added.find(pieces[i].id);
      const bool strips = token != nullptr && (token->strips_left || token->strips_right);
      if (strips && bytes == last.before) {
        bytes = last.after;
        continue;
      }
      const Span before = bytes;
      if (strips) blanks = blanks_of(text_at(text, bytes));
      if (blanks.left > 0) {
        const bool is_first = i == 0 || bytes.begin == 0;
        if (is_first && trim.keeps_first && blanks.left == 1) blanks.left = 0;
        bytes.begin = forward(text, bytes.begin, blanks.left, bytes.end);
      }
      bytes.end = back(text, bytes.end, blanks.right, bytes.begin);
      if (strips && i > 0) last = {before, bytes};  // the first one is not like others
    }
  }
}

}  // namespace tessera::text
