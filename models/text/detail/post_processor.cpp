#include "tessera/models/text/detail/steps.h"

#include <algorithm>
#include <string>
#include <utility>

#include "tessera/models/text/detail/added_tokens.h"
#include "tessera/models/text/detail/byte_level.h"
#include "tessera/models/text/detail/unicode.h"
#include "tessera/models/text/utf8.h"
#include "tessera/tensor/io/detail/utf8.h"
#include "tessera/tensor/io/file.h"

namespace tessera::text {

namespace {

using Parts = std::vector<Frame::Part>;

constexpr index_t kMaxType = 1'000'000;
constexpr index_t kMostParts = 1000;  // each encoding contains all of them

/// The number of a special token as Bert and Roberta write it: ["[SEP]", 102].
index_t number_of(const Json& pair, index_t size) {
  if (!pair.is_list() || pair.size() != 2) {
    pair.fail("must be a token and its number, got ", pair.described());
  }
  return pair.item(1).integer(JsonRange{0, size - 1});
}

/// **Source**: Liu et al., "RoBERTa", 2019; its code puts two </s> between texts, all of type 0.
Frame roberta_frame(index_t cls, index_t sep) {
  const Frame::Part begin = {kNoText, 0, cls};
  const Frame::Part end = {kNoText, 0, sep};
  return {{begin, {0, 0}, end}, {begin, {0, 0}, end, end, {1, 0}, end}};
}

void add_special(const Json& piece, const Json& special, index_t size, Parts& parts) {
  const std::string name = piece.text("id");
  const index_t type = piece.integer("type_id", JsonRange{0, kMaxType}, 0);
  const Json token = special.at(name);
  for (const Json& id : token.at("ids").items()) {
    if (std::ssize(parts) == kMostParts) {
      piece.fail("must have at most ", kMostParts, " tokens around texts, got more");
    }
    parts.push_back({kNoText, type, id.integer(JsonRange{0, size - 1})});
  }
}

/// [{"SpecialToken": {"id", "type_id"}}, {"Sequence": {"id": "A", "type_id"}}, ...]
Parts template_parts(const Json& pieces, const Json& special, index_t texts, index_t size) {
  if (pieces.size() > kMostParts) {
    pieces.fail("must have at most ", kMostParts, " parts, got ", pieces.size());
  }
  Parts parts;
  std::vector<index_t> times(static_cast<std::size_t>(texts), 0);
  for (const Json& piece : pieces.items()) {
    if (const auto token = piece.find("SpecialToken")) {
      add_special(*token, special, size, parts);
      continue;
    }
    const Json sequence = piece.at("Sequence");
    const std::string name = sequence.text("id");
    const index_t text = name == "A" ? 0 : name == "B" ? 1 : texts;
    if (text >= texts) {
      sequence.at("id").fail("must be 'A'", texts == 2 ? " or 'B'" : "", ", got ", printable(name));
    }
    ++times[static_cast<std::size_t>(text)];
    parts.push_back({text, sequence.integer("type_id", JsonRange{0, kMaxType}, 0)});
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (times[i] != 1) {
      pieces.fail("must have each text once, got '", "AB"[i], "' ", times[i], " times");
    }
  }
  return parts;
}

Frame template_frame(const Json& json, index_t size) {
  const Json special = json.at("special_tokens");
  if (special.size() > kMostParts) {
    special.fail("must have at most ", kMostParts, " tokens, got ", special.size());
  }
  Frame frame{template_parts(json.at("single"), special, 1, size), {}};
  const Json pair = json.at("pair");
  if (pair.size() > 0) frame.pair = template_parts(pair, special, 2, size);
  return frame;
}

/// The position `count` characters after `at`, at most `end`.
index_t forward(std::string_view text, index_t at, index_t count, index_t end) {
  for (; count > 0 && at < end; --count) {
    do {
      ++at;
    } while (at < end && continues_code_point(text, at));
  }
  return at;
}

/// The position `count` characters before `at`, at least `begin`.
index_t back(std::string_view text, index_t at, index_t count, index_t begin) {
  for (; count > 0 && at > begin; --count) {
    do {
      --at;
    } while (at > begin && continues_code_point(text, at));
  }
  return at;
}

/// The last trimmed span: many tokens may come from the same long part of a text, unknown bytes.
struct Trimmed {
  Span before = {-1, -1};
  Span after = {};
};

}  // namespace

/// Adds the effect of one processor; `has_frame`: an earlier one has put tokens around the texts.
void PostProcessor::add(const Json& json, index_t size, bool& has_frame) {
  const std::string type = json.text("type");
  if (type == "Sequence") {
    for (const Json& one : step_list(json, "processors")) add(one, size, has_frame);
    return;
  }
  if (type == "ByteLevel" || type == "RobertaProcessing") {
    if (json.boolean("trim_offsets", true)) {
      keeps_first_.push_back(json.boolean("add_prefix_space", true));
    }
    if (type == "ByteLevel") return;
  }
  if (has_frame) {
    json.fail("must be the only processor that puts tokens around texts, got a second one");
  }
  has_frame = true;
  if (type == "BertProcessing" || type == "RobertaProcessing") {
    const index_t cls = number_of(json.at("cls"), size);
    const index_t sep = number_of(json.at("sep"), size);
    frame = type == "RobertaProcessing" ? roberta_frame(cls, sep)
                                        : Frame::bert({.cls = cls, .sep = sep});
  } else if (type == "TemplateProcessing") {
    frame = template_frame(json, size);
  } else {
    json.at("type").fail(
        "must be BertProcessing, RobertaProcessing, TemplateProcessing, ByteLevel or Sequence, "
        "got ",
        printable(type));
  }
}

PostProcessor::PostProcessor(const std::optional<Json>& json, const TokenList& tokens) {
  bool has_frame = false;
  if (json) add(*json, tokens.size(), has_frame);
  if (keeps_first_.empty()) return;
  blanks_.reserve(static_cast<std::size_t>(tokens.size()));
  for (index_t id = 0; id < tokens.size(); ++id) blanks_.push_back(blanks_of(tokens[id]));
}

PostProcessor::Blanks PostProcessor::blanks_of(std::string_view token) {
  Blanks blanks;
  bool only = true;  // only blanks so far
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

void PostProcessor::trim(std::string_view text, std::span<Piece> pieces,
                         const AddedTokens& added) const {
  for (const bool keeps_first : keeps_first_) {
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
        if (is_first && keeps_first && blanks.left == 1) blanks.left = 0;
        bytes.begin = forward(text, bytes.begin, blanks.left, bytes.end);
      }
      bytes.end = back(text, bytes.end, blanks.right, bytes.begin);
      if (strips && i > 0) last = {before, bytes};  // the first token differs from the others
    }
  }
}

}  // namespace tessera::text
