#include "models/text/detail/post_processor.h"

#include <algorithm>
#include <string>

#include "models/text/detail/step_list.h"
#include "tensor/io/file.h"

namespace tessera::text {

namespace {

using Parts = std::vector<Layout::Part>;

constexpr index_t kMaxType = 1'000'000;
constexpr index_t kMostParts = 1000;  // each encoding has them all

/// A special token as Bert and Roberta write it: ["[SEP]", 102].
Layout::Part token_of(const Json& pair, index_t size) {
  if (!pair.is_list() || pair.size() != 2) {
    pair.fail("must be a token and its number, got ", pair.described());
  }
  return {kNoText, 0, pair.item(1).integer(JsonRange{0, size - 1})};
}

/// The same part as a token of another type.
Layout::Part typed(Layout::Part part, index_t type) {
  part.type = type;
  return part;
}

Layout bert_layout(const Json& json, index_t size) {
  const Layout::Part cls = token_of(json.at("cls"), size);
  const Layout::Part sep = token_of(json.at("sep"), size);
  return {{cls, {0, 0}, sep}, {cls, {0, 0}, sep, {1, 1}, typed(sep, 1)}};
}

/// **Source**: Liu et al., "RoBERTa", 2019; its code puts two </s> between texts, all of type 0.
Layout roberta_layout(const Json& json, index_t size) {
  const Layout::Part cls = token_of(json.at("cls"), size);
  const Layout::Part sep = token_of(json.at("sep"), size);
  return {{cls, {0, 0}, sep}, {cls, {0, 0}, sep, sep, {1, 0}, sep}};
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

Layout template_layout(const Json& json, index_t size) {
  const Json special = json.at("special_tokens");
  if (special.size() > kMostParts) {
    special.fail("must have at most ", kMostParts, " tokens, got ", special.size());
  }
  Layout layout{template_parts(json.at("single"), special, 1, size), {}};
  const Json pair = json.at("pair");
  if (pair.size() > 0) layout.pair = template_parts(pair, special, 2, size);
  return layout;
}

/// Adds what one processor does; `has_layout` if one before it has put tokens around the texts.
void add(const Json& json, index_t size, PostProcessor& all, bool& has_layout) {
  const std::string type = json.text("type");
  if (type == "Sequence") {
    for (const Json& one : step_list(json, "processors")) add(one, size, all, has_layout);
    return;
  }
  if (type == "ByteLevel" || type == "RobertaProcessing") {
    if (json.boolean("trim_offsets", true)) {
      all.trims.push_back({json.boolean("add_prefix_space", true)});
    }
    if (type == "ByteLevel") return;
  }
  if (has_layout) {
    json.fail("must be the only processor that puts tokens around texts, got a second one");
  }
  has_layout = true;
  if (type == "BertProcessing") {
    all.layout = bert_layout(json, size);
  } else if (type == "RobertaProcessing") {
    all.layout = roberta_layout(json, size);
  } else if (type == "TemplateProcessing") {
    all.layout = template_layout(json, size);
  } else {
    json.at("type").fail(
        "must be BertProcessing, RobertaProcessing, TemplateProcessing, ByteLevel or Sequence, "
        "got ",
        printable(type));
  }
}

}  // namespace

PostProcessor read_post_processor(const std::optional<Json>& json, index_t size) {
  PostProcessor all{{{{0, 0}}, {{0, 0}, {1, 1}}}, {}};
  if (!json) return all;
  bool has_layout = false;
  add(*json, size, all, has_layout);
  return all;
}

}  // namespace tessera::text
