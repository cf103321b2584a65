#include "models/text/detail/tokenizer_files.h"

#include <array>
#include <string>
#include <string_view>
#include <utility>

#include "models/text/detail/older_files.h"
#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::text {

namespace {

namespace fs = std::filesystem;

constexpr double kLongest = 1e9;  // a longer limit is none: transformers writes 1e30

/// A special token is written as a text, or as {"content": ...}.
std::optional<std::string> token_text(const std::optional<Json>& json, std::string_view key) {
  const std::optional<Json> token = json ? json->find(key) : std::nullopt;
  if (!token) return std::nullopt;
  return token->is_object() ? token->text("content") : std::string(token->text());
}

Side side(const Json& config, std::string_view key) {
  const std::string name = config.text(key, "right");
  if (name != "left" && name != "right") {
    config.at(key).fail("must be 'left' or 'right', got ", printable(name));
  }
  return name == "left" ? Side::kLeft : Side::kRight;
}

/// Whether a model is given token types: as the file says, else by the class of the tokenizer.
bool feeds_types(const Json& config) {
  if (const std::optional<Json> names = config.find("model_input_names")) {
    for (const Json& name : names->items()) {
      if (name.text() == "token_type_ids") return true;
    }
    return false;
  }
  static constexpr std::array<std::string_view, 6> kWithout = {
      "Roberta", "XLMRoberta", "Camembert", "DistilBert", "MPNet", "GPT2"};
  const std::string kind = config.text("tokenizer_class", "");
  for (const std::string_view name : kWithout) {
    if (kind.starts_with(name)) return false;
  }
  return true;
}

TokenizerSettings settings_of(const Json& config) {
  TokenizerSettings settings;
  const double length = config.number("model_max_length", 0.0);
  if (length < 0) config.at("model_max_length").fail("must be at least 0, got ", length);
  if (length < kLongest) settings.max_length = static_cast<index_t>(length);
  settings.feeds_types = feeds_types(config);
  settings.padding = side(config, "padding_side");
  settings.cut = side(config, "truncation_side");
  return settings;
}

/// A BertNormalizer with what the tokenizer_config.json of a BERT says of it; as transformers has
/// it, that counts more. Nothing if they agree.
std::optional<Json> normalizer_of(const Json& tokenizer, const Json& config) {
  const std::optional<Json> normalizer = tokenizer.find("normalizer");
  if (!normalizer || normalizer->text("type") != "BertNormalizer") return std::nullopt;
  if (config.text("tokenizer_class", "").starts_with("PreTrained")) return std::nullopt;
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kKeys = {
      {{"lowercase", "do_lower_case"},
       {"handle_chinese_chars", "tokenize_chinese_chars"},
       {"strip_accents", "strip_accents"}}};
  JsonObject chosen = {{"type", "BertNormalizer"},
                       {"clean_text", normalizer->boolean("clean_text", true)}};
  bool differs = false;
  for (const auto& [ours, theirs] : kKeys) {
    const std::optional<Json> own = normalizer->find(ours);
    const std::optional<Json> named = config.find(theirs);
    const std::optional<Json> value = named ? named : own;
    differs = differs || (named && (!own || own->boolean() != named->boolean()));
    chosen.add(ours, value ? std::optional(value->boolean()) : std::nullopt);
  }
  if (!differs) return std::nullopt;
  return parse_json(chosen.text(), normalizer->place());
}

TokenizerConfig config_of(const std::optional<Json>& config, const std::optional<Json>& map) {
  TokenizerConfig all;
  if (config) all.settings = settings_of(*config);
  const auto name = [&](std::string_view key, std::string_view other) {
    for (const std::string_view one : {key, other}) {
      for (const auto* const file : {&config, &map}) {
        if (auto text = token_text(*file, one)) return text;
      }
    }
    return std::optional<std::string>();
  };
  all.pad = name("pad_token", "pad_token");
  all.unknown = name("unk_token", "unk_token");
  all.cls = name("cls_token", "bos_token");
  all.sep = name("sep_token", "eos_token");
  all.mask = name("mask_token", "mask_token");
  return all;
}

}  // namespace

TokenizerConfig read_tokenizer_config(const fs::path& folder) {
  return config_of(find_json(folder / "tokenizer_config.json", kSmallJson),
                   find_json(folder / "special_tokens_map.json", kSmallJson));
}

PipelineTokenizer load_pipeline_tokenizer(const fs::path& folder) {
  const std::optional<Json> config = find_json(folder / "tokenizer_config.json", kSmallJson);
  TokenizerConfig all =
      config_of(config, find_json(folder / "special_tokens_map.json", kSmallJson));
  if (const std::optional<Json> json = find_json(folder / "tokenizer.json")) {
    if (config) all.normalizer = normalizer_of(*json, *config);
    return PipelineTokenizer::from_json(*json, all);
  }
  for (const char* name : {"vocab.txt", "merges.txt"}) {
    if (fs::exists(folder / name)) refuse_stand_in(InputFile(folder / name));
  }
  if (std::optional<std::string> text = older_tokenizer_json(folder, config, all)) {
    return PipelineTokenizer::from_json(parse_own_json(std::move(*text), folder.string()), all);
  }
  fail_file(
      folder.string(),
      "must have a tokenizer (tokenizer.json, vocab.txt, or vocab.json and merges.txt), got none");
}

}  // namespace tessera::text
