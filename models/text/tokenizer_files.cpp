#include "models/text/tokenizers.h"

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <string_view>
#include <utility>

#include "models/text/detail/pipeline_tokenizer.h"
#include "models/text/detail/subword_model.h"
#include "models/text/text_file.h"
#include "tensor/detail/parse_number.h"
#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/profile_span.h"

namespace tessera::text {

namespace {

namespace fs = std::filesystem;

constexpr double kLongest = 1e9;  // a longer limit means no limit: transformers writes 1e30

/// A special token, written as a text or as {"content": ...}.
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

/// Whether a model gets token types: by the file, else by the class of the tokenizer.
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

/// A BertNormalizer with the settings in the tokenizer_config.json of a BERT, which override the
/// tokenizer's, as in transformers. nullopt if they agree.
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
    // As a boolean, so that the error for another type names the config's file.
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

// Tokenizers in formats older than tokenizer.json, converted to it.

constexpr std::size_t kLongestToken = 1000;

bool flag(const std::optional<Json>& config, std::string_view key, bool otherwise) {
  return config ? config->boolean(key, otherwise) : otherwise;
}

/// "added_tokens": the special tokens, and those of added_tokens_decoder, {"50264": {"content":
/// ...}}.
JsonList added_tokens(const Vocabulary& tokens, const TokenizerConfig& names,
                      const std::optional<Json>& config) {
  std::map<index_t, JsonObject> added;
  for (const std::string& name :
       {*names.pad, *names.unknown, *names.cls, *names.sep, *names.mask}) {
    const auto id = tokens.find(name);
    if (!id) continue;
    added[*id] = JsonObject({{"id", *id},
                             {"content", name},
                             {"single_word", false},
                             {"lstrip", name == "<mask>"},
                             {"rstrip", false},
                             {"normalized", false},
                             {"special", true}});
  }
  const auto more = config ? config->find("added_tokens_decoder") : std::nullopt;
  if (more) {
    for (const Json& token : more->items()) {
      std::int32_t id = -1;
      if (!parse_number(token.key(), id) || id < 0) {
        token.fail("the key must be a number of a token, got ", printable(token.key()));
      }
      if (!token.is_object() || token.size() == 0) {
        token.fail("must be an object with keys, got ", token.described());
      }
      JsonObject& own = added[id] = JsonObject({{"id", id}});
      for (const Json& value : token.items()) {
        if (value.key() != "id") own.add(value.key(), value);
      }
    }
  }
  return json_list(added, [](const auto& token) { return token.second; });
}

JsonObject vocab_json(const TokenList& tokens) {
  JsonObject vocabulary;
  for (index_t id = 0; id < tokens.size(); ++id) {
    if (!tokens[id].empty()) vocabulary.add(tokens[id], id);
  }
  return vocabulary;
}

/// Errors: the vocabulary does not have the token.
index_t special_number(const Vocabulary& tokens, const std::string& name, const std::string& file) {
  const auto id = tokens.find(name);
  if (!id) fail_file(file, "must have the special token ", printable(name), ", got none");
  return *id;
}

/// Tokens around texts: one [SEP] between two texts as in BERT, or </s></s> as in RoBERTa.
JsonObject processor_of(const Vocabulary& tokens, const TokenizerConfig& names, bool prefix_space,
                        const std::string& file) {
  const auto token = [&](const std::string& name) {  // ["[SEP]", 102]
    return JsonList().add(name).add(special_number(tokens, name, file));
  };
  const bool is_roberta = names.sep->starts_with('<');
  return {{"type", is_roberta ? "RobertaProcessing" : "BertProcessing"},
          {"sep", token(*names.sep)},
          {"cls", token(*names.cls)},
          {"trim_offsets", true},
          {"add_prefix_space", prefix_space}};
}

/// A step of the type ByteLevel.
JsonObject byte_level(bool trims, bool prefix_space) {
  return {{"type", "ByteLevel"}, {"trim_offsets", trims}, {"add_prefix_space", prefix_space}};
}

/// The tokens of vocab.txt: its lines, numbered by their position.
Vocabulary tokens_of_lines(std::string_view text, const std::string& file) {
  const index_t lines = std::count(text.begin(), text.end(), '\n') + 1;
  if (lines > kMostTokens) {
    fail_file(file, "must have at most ", kMostTokens, " lines, got ", lines);
  }
  TokenList list;
  list.reserve(lines, std::ssize(text));
  Vocabulary tokens(std::move(list), {}, lines);
  for (index_t id = 0; !text.empty(); ++id) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.size() > kLongestToken) {
      fail_file(file, "line ", id + 1, ": a token must have at most ", kLongestToken,
                " bytes, got ", line.size());
    }
    if (!line.empty()) tokens.set(id, line);
  }
  return tokens;
}

JsonObject word_piece(const fs::path& vocabulary, const std::optional<Json>& config,
                      const TokenizerConfig& named) {
  const std::string file = vocabulary.string();
  const Vocabulary tokens = tokens_of_lines(read_text(vocabulary), file);
  const TokenizerConfig names = with_special_names(named, tokens);
  special_number(tokens, *names.unknown, file);
  const auto accents = config ? config->find("strip_accents") : std::nullopt;
  JsonObject normalizer = {
      {"type", "BertNormalizer"},
      {"clean_text", true},
      {"handle_chinese_chars", flag(config, "tokenize_chinese_chars", true)},
      {"strip_accents", accents ? std::optional(accents->boolean()) : std::nullopt},
      {"lowercase", flag(config, "do_lower_case", true)}};
  JsonObject model = {{"type", "WordPiece"},
                      {"unk_token", *names.unknown},
                      {"continuing_subword_prefix", "##"},
                      {"max_input_chars_per_word", 100}};
  model.add("vocab", vocab_json(tokens.tokens()));
  return {{"added_tokens", added_tokens(tokens, names, config)},
          {"normalizer", std::move(normalizer)},
          {"pre_tokenizer", JsonObject({{"type", "BertPreTokenizer"}})},
          {"post_processor", processor_of(tokens, names, false, file)},
          {"decoder", JsonObject({{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}})},
          {"model", std::move(model)}};
}

/// The lines of merges.txt.
JsonList merges_of(const fs::path& file) {
  JsonList merges;
  for (const std::string& line : split_lines(read_text(file))) {
    if (!line.empty() && !line.starts_with("#version")) merges.add(line);
  }
  return merges;
}

JsonObject byte_pair(const fs::path& vocabulary, const fs::path& merges,
                     const std::optional<Json>& config, const TokenizerConfig& named) {
  const Vocabulary tokens(read_tokens(read_json(vocabulary)));
  const TokenizerConfig names = with_special_names(named, tokens);
  const bool space = flag(config, "add_prefix_space", false);
  const bool has_ends = tokens.find(*names.cls) && tokens.find(*names.sep);
  const bool has_unknown = tokens.find(*names.unknown).has_value();
  JsonObject model = {{"type", "BPE"},
                      {"unk_token", has_unknown ? JsonText(*names.unknown) : nullptr}};
  model.add("vocab", vocab_json(tokens.tokens())).add("merges", merges_of(merges));
  return {{"added_tokens", added_tokens(tokens, names, config)},
          {"pre_tokenizer", byte_level(true, space)},
          {"post_processor", has_ends ? processor_of(tokens, names, space, vocabulary.string())
                                      : byte_level(false, space)},
          {"decoder", byte_level(true, space)},
          {"model", std::move(model)}};
}

/// The tokenizer.json of a folder that has vocab.txt, or vocab.json and merges.txt, instead;
/// nullopt if it has neither.
std::optional<std::string> older_tokenizer_json(const fs::path& folder,
                                                const std::optional<Json>& config,
                                                const TokenizerConfig& names) {
  if (const fs::path text = folder / "vocab.txt"; fs::exists(text)) {
    return word_piece(text, config, names).text();
  }
  const fs::path list = folder / "vocab.json";
  if (!fs::exists(list)) return std::nullopt;
  return byte_pair(list, folder / "merges.txt", config, names).text();
}

std::unique_ptr<Tokenizer> load_folder(const fs::path& folder) {
  const std::optional<Json> config = find_json(folder / "tokenizer_config.json", kSmallJson);
  TokenizerConfig all =
      config_of(config, find_json(folder / "special_tokens_map.json", kSmallJson));
  if (const std::optional<Json> json = find_json(folder / "tokenizer.json")) {
    if (config) all.normalizer = normalizer_of(*json, *config);
    return pipeline_tokenizer(*json, all);
  }
  for (const char* name : {"vocab.txt", "merges.txt"}) {
    if (fs::exists(folder / name)) refuse_incomplete_download(InputFile(folder / name));
  }
  if (const std::optional<std::string> text = older_tokenizer_json(folder, config, all)) {
    return pipeline_tokenizer(parse_json(*text, folder.string()), all);
  }
  fail_file(
      folder.string(),
      "must have a tokenizer (tokenizer.json, vocab.txt, or vocab.json and merges.txt), got none");
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const fs::path& path) {
  const ProfileScope scope("load tokenizer");
  if (fs::is_directory(path)) return load_folder(path);
  return tokenizer_from_text(read_text(path), path.string());
}

}  // namespace tessera::text
