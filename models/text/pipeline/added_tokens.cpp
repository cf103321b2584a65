#include "models/text/pipeline/added_tokens.h"

#include <algorithm>
#include <utility>

#include "models/text/unicode.h"
#include "models/text/utf8.h"

namespace tessera::text {

namespace {

/// Where the code point begins that ends at `end`, which is not 0.
index_t begin_of_last(std::string_view text, index_t end) {
  do {
    --end;
  } while (end > 0 && continues_code_point(text, end));
  return end;
}

bool is_word_at(std::string_view text, index_t at) {
  return is_word(code_point_at(text, static_cast<std::size_t>(at)));
}
bool is_space_at(std::string_view text, index_t at) {
  return is_space(code_point_at(text, static_cast<std::size_t>(at)));
}

/// Whether no word goes on at either end of a match.
bool stands_alone(std::string_view text, Span bytes) {
  const bool joins_left = bytes.begin > 0 && is_word_at(text, begin_of_last(text, bytes.begin));
  const bool joins_right = bytes.end < std::ssize(text) && is_word_at(text, bytes.end);
  return !joins_left && !joins_right;
}

/// The place before the white space that ends at `at`, not before `least`.
index_t skip_space_left(std::string_view text, index_t at, index_t least) {
  while (at > least) {
    const index_t before = begin_of_last(text, at);
    if (!is_space_at(text, before)) break;
    at = before;
  }
  return at;
}

index_t skip_space_right(std::string_view text, index_t at) {
  while (at < std::ssize(text) && is_space_at(text, at)) {
    at += static_cast<index_t>(code_point_size(text_at(text, {at, std::ssize(text)})));
  }
  return at;
}

}  // namespace

void StringMatcher::add(std::string_view content, index_t number) {
  std::int32_t node = 0;
  for (const char c : content) {
    const auto byte = static_cast<unsigned char>(c);
    std::int32_t next = step(node, byte);
    if (next == 0) {
      next = static_cast<std::int32_t>(nodes_.size());
      nodes_[static_cast<std::size_t>(node)].next.emplace_back(byte, next);
      if (node == 0) first_[byte] = next;
      nodes_.emplace_back();
    }
    node = next;
  }
  if (node == 0 || nodes_[static_cast<std::size_t>(node)].number >= 0) return;
  nodes_[static_cast<std::size_t>(node)].number = number;
}

std::int32_t StringMatcher::step(std::int32_t node, unsigned char byte) const {
  if (node == 0) return first_[byte];
  for (const auto& [value, next] : nodes_[static_cast<std::size_t>(node)].next) {
    if (value == byte) return next;
  }
  return 0;
}

StringMatcher::Match StringMatcher::find(std::string_view text, index_t from) const {
  const auto byte = [&](index_t at) {
    return static_cast<unsigned char>(text[static_cast<std::size_t>(at)]);
  };
  const index_t size = std::ssize(text);
  for (index_t begin = from; begin < size; ++begin) {
    std::int32_t node = first_[byte(begin)];
    if (node == 0) continue;
    Match longest{-1, {begin, begin}};
    for (index_t at = begin + 1; node != 0; ++at) {
      const Node& here = nodes_[static_cast<std::size_t>(node)];
      if (here.number >= 0) longest = {here.number, {begin, at}};
      node = at < size ? step(node, byte(at)) : 0;
    }
    if (longest.number >= 0) return longest;
  }
  return {-1, {size, size}};
}

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const Normalizer* normalizer)
    : tokens_(std::move(tokens)) {
  std::sort(tokens_.begin(), tokens_.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  for (const bool special : {true, false}) {  // the special ones take precedence
    for (index_t i = 0; i < std::ssize(tokens_); ++i) {
      AddedToken& token = tokens_[static_cast<std::size_t>(i)];
      if (token.special != special) continue;
      AlignedText content{token.content, {}, 0};
      if (token.normalized && normalizer != nullptr) normalizer->apply(content);
      token.found_as = std::move(content.text);
      (token.normalized ? normalized_ : given_).add(token.found_as, i);
    }
  }
}

const AddedToken* AddedTokens::find(index_t id) const {
  const auto at = std::lower_bound(tokens_.begin(), tokens_.end(), id,
                                   [](const AddedToken& token, index_t i) { return token.id < i; });
  return at == tokens_.end() || at->id != id ? nullptr : &*at;
}

std::vector<TextPart> AddedTokens::cut(std::string_view text, In where, bool special) const {
  std::vector<TextPart> parts;
  index_t done = 0;
  Span space = {0, 0};  // found last; no place of it is looked at again
  for (index_t from = 0;;) {
    const StringMatcher::Match match = matcher(where).find(text, from);
    if (match.number < 0) break;
    from = match.bytes.end;
    const AddedToken& token = tokens_[static_cast<std::size_t>(match.number)];
    if (token.special && !special) continue;
    if (token.single_word && !stands_alone(text, match.bytes)) continue;
    Span bytes = match.bytes;
    if (token.strips_left) bytes.begin = std::max(done, skip_space_left(text, bytes.begin, done));
    if (token.strips_right) {
      const bool known = bytes.end >= space.begin && bytes.end < space.end;
      space = {bytes.end, known ? space.end : skip_space_right(text, bytes.end)};
      bytes.end = space.end;
    }
    if (bytes.begin >= bytes.end) continue;  // white space that went with the token before
    if (done < bytes.begin) parts.push_back({nullptr, {done, bytes.begin}});
    parts.push_back({&token, bytes});
    done = bytes.end;
  }
  if (done < std::ssize(text)) parts.push_back({nullptr, {done, std::ssize(text)}});
  return parts;
}

}  // namespace tessera::text
