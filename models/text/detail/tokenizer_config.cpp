#include "tessera/models/text/detail/tokenizer_config.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <map>
#include <set>
#include <string_view>
#include <utility>

#include "tessera/tensor/detail/parse_number.h"
#include "tessera/tensor/error.h"

namespace tessera::text {

namespace {

namespace fs = std::filesystem;

constexpr double kLongest = 1e9;  // a longer limit means no limit: transformers writes 1e30

bool has(const std::optional<Json>& json, std::string_view key) {
  return json && json->has(key);
}

std::optional<Json> find(const std::optional<Json>& json, std::string_view key) {
  return json ? json->find(key) : std::nullopt;
}

/// As find, but a value may be null.
std::optional<Json> find_value(const std::optional<Json>& json, std::string_view key) {
  if (!json) return std::nullopt;
  for (const Json& value : json->as_object().items()) {
    if (value.key() == key) return value;
  }
  return std::nullopt;
}

// ---- settings ----

/// A side in tokenizer_config.json; by default, the direction of a block of tokenizer.json.
Side side_of(const std::optional<Json>& config, const char* key,
             const std::optional<Json>& tokenizer, const char* block) {
  std::optional<Json> side = find(config, key);
  if (!side) side = find(find(tokenizer, block), "direction");
  if (!side) return Side::kRight;
  const std::string_view name = side->text();
  const bool is_left = name == "left" || name == "Left";
  if (!is_left && name != "right" && name != "Right") {
    side->fail("must be 'left' or 'right', got ", printable(name));
  }
  return is_left ? Side::kLeft : Side::kRight;
}

/// Whether a model gets token types: by the file, else by the class.
bool feeds_type_ids(const std::optional<Json>& config, const TokenizerClass* known) {
  const std::optional<Json> names = find(config, "model_input_names");
  if (!names) return known == nullptr || known->feeds_type_ids;
  for (const Json& name : names->items()) {
    if (name.text() == "token_type_ids") return true;
  }
  return false;
}

TokenizerSettings settings_of(const std::optional<Json>& config, const TokenizerClass* known,
                              const std::optional<Json>& tokenizer) {
  TokenizerSettings settings;
  const char* const key = find_value(config, "model_max_length") ? "model_max_length" : "max_len";
  const std::optional<Json> limit = find(config, key);
  const bool is_infinite = limit && limit->described() == "Infinity";
  const double length = limit && !is_infinite ? limit->number() : 0;
  if (length < 0) config->at(key).fail("must be at least 0, got ", length);
  if (length < kLongest) settings.max_length = static_cast<index_t>(length);
  settings.feeds_type_ids = feeds_type_ids(config, known);
  settings.padding_side = side_of(config, "padding_side", tokenizer, "padding");
  settings.truncation_side = side_of(config, "truncation_side", tokenizer, "truncation");
  settings.split_special_tokens = config && config->boolean("split_special_tokens", false);
  return settings;
}

// ---- steps that the folder changes ----

/// A BertNormalizer with the settings in the tokenizer_config.json of a class like BERT's.
std::optional<Json> normalizer_of(const std::optional<Json>& normalizer, const Json& config,
                                  const TokenizerClass* known, std::string_view class_name) {
  if (!normalizer || normalizer->text("type") != "BertNormalizer") return normalizer;
  if (is_generic_class(class_name)) return normalizer;
  if (known != nullptr && known->files != ClassFiles::kWordPiece) return normalizer;
  static constexpr std::array<std::pair<std::string_view, std::string_view>, 3> kKeys = {
      {{"lowercase", "do_lower_case"},
       {"handle_chinese_chars", "tokenize_chinese_chars"},
       {"strip_accents", "strip_accents"}}};
  JsonObject chosen = {{"type", "BertNormalizer"},
                       {"clean_text", normalizer->boolean("clean_text", true)}};
  bool differs = false;
  for (const auto& [ours, theirs] : kKeys) {
    // "strip_accents": null is a value, which means as `lowercase` says.
    const auto flag_of = [](const std::optional<Json>& json) {
      return json && !json->is_null() ? std::optional(json->boolean()) : std::nullopt;
    };
    const bool is_mpnet = known != nullptr && known->name == "mpnet";  // reads only two of them
    const bool is_read = !is_mpnet || ours != "handle_chinese_chars";
    const std::optional<Json> named = !is_read                    ? std::nullopt
                                      : theirs == "strip_accents" ? find_value(config, theirs)
                                                                  : config.find(theirs);
    const std::optional<bool> own = flag_of(normalizer->find(ours));
    const std::optional<bool> value = named ? flag_of(named) : own;
    differs = differs || value != own;
    chosen.add(ours, value);
  }
  if (!differs) return normalizer;
  return parse_json(chosen.text(), normalizer->place());
}

/// `step`, which is kept unless it is byte-level, with `value` for a key that it has.
std::optional<Json> with_flag(const std::optional<Json>& step, std::string_view key, bool value) {
  const bool is_byte_level =
      step && (step->text("type") == "ByteLevel" || step->text("type") == "RobertaProcessing");
  if (!is_byte_level || !step->has(key) || step->boolean(key) == value) return step;
  JsonObject changed;
  for (const Json& one : step->items()) {
    changed.add(one.key(), one.key() == key ? JsonText(value) : JsonText(one));
  }
  return parse_json(changed.text(), step->place());
}

StepsJson steps_of(const Json& tokenizer, const std::optional<Json>& config,
                   const TokenizerClass* known, std::string_view class_name) {
  StepsJson steps = StepsJson::of(tokenizer);
  if (config) steps.normalizer = normalizer_of(steps.normalizer, *config, known, class_name);
  const bool is_roberta = known != nullptr && known->files == ClassFiles::kByteLevel;
  const bool has_default =
      is_roberta || (known != nullptr && known->files == ClassFiles::kPlainByteLevel);
  const auto named = find(config, "add_prefix_space");
  if (named || has_default) {
    const bool space = named && named->boolean();
    steps.pre_tokenizer = with_flag(steps.pre_tokenizer, "add_prefix_space", space);
    if (is_roberta) {
      steps.post_processor = with_flag(steps.post_processor, "add_prefix_space", space);
    }
  }
  if (is_roberta) {
    const bool trims = !config || config->boolean("trim_offsets", true);
    steps.post_processor = with_flag(steps.post_processor, "trim_offsets", trims);
  }
  return steps;
}

// ---- special tokens and added tokens ----

/// A token that a folder or a class names.
struct NamedToken {
  enum class From { kText, kKeyWithFlags, kListWithFlags };
  AddedToken token;
  From from;  // decides whether its flags replace those of an added token
};

/// The tokens that a folder names.
class NamedTokens {
 public:
  /// `map`: special_tokens_map.json. `padding`: the block of tokenizer.json, which has a pad_token.
  NamedTokens(std::optional<Json> config, std::optional<Json> map, std::optional<Json> padding,
              const TokenizerClass* known)
      : config_(std::move(config)), map_(std::move(map)), padding_(std::move(padding)) {
    if (known != nullptr) {
      defaults_ = known->names;
      mask_strips_ = known->mask_strips;
    }
  }

  std::optional<NamedToken> at(std::string_view key) const {
    const bool strips = mask_strips_ && key == "mask_token";
    if (const auto json = value(key)) {
      return json->is_null() ? std::nullopt : std::optional(named(*json, false, strips));
    }
    const auto place = std::ranges::find(kSpecialKeys, key) - kSpecialKeys.begin();
    const std::string_view usual = defaults_[static_cast<std::size_t>(place)];
    if (!usual.empty()) {
      // The class gives flags to its mask, after the flags of files have been read.
      return NamedToken{{.content = std::string(usual), .strips_left = strips, .special = true},
                        strips ? NamedToken::From::kListWithFlags : NamedToken::From::kText};
    }
    const auto json = find(padding_, key);
    return json ? std::optional(named(*json, false, strips)) : std::nullopt;
  }
  /// The text of the token `key` or, without this key, of the token `other`; empty for null.
  std::optional<std::string> text(std::string_view key, std::string_view other) const {
    if (is_null(key)) return "";
    std::optional<NamedToken> token = at(key);
    if (!token) token = at(other);
    return token ? std::optional(token->token.content) : std::nullopt;
  }

  /// All of them, in the order in which transformers adds them.
  std::vector<NamedToken> all() const {
    std::vector<NamedToken> tokens;
    for (const std::string_view key : kSpecialKeys) {
      if (auto token = at(key)) tokens.push_back(std::move(*token));
    }
    const auto add_list = [&](const std::optional<Json>& list) {
      if (!list) return;
      for (const Json& token : list->items()) tokens.push_back(named(token, true, false));
    };
    add_list(find(config_, "additional_special_tokens"));
    add_list(find(map_, "additional_special_tokens"));
    // A list, or an object with a name for each token.
    for (const char* key : {"extra_special_tokens", "model_specific_special_tokens"}) {
      add_list(has(map_, key) ? find(map_, key) : find(config_, key));
    }
    if (!config_) return tokens;
    for (const Json& token : config_->as_object().items()) {  // such as "image_token"
      const bool is_new = token.key().ends_with("_token") &&
                          std::ranges::find(kSpecialKeys, token.key()) == kSpecialKeys.end();
      const bool is_token = token.is_text() || (token.is_object() && token.has("content"));
      if (is_new && is_token) tokens.push_back(named(token, true, false));
    }
    return tokens;
  }

 private:
  std::optional<Json> value(std::string_view key) const {
    const auto json = find_value(map_, key);
    return json ? json : find_value(config_, key);
  }
  bool is_null(std::string_view key) const {
    const auto json = value(key);
    return json && json->is_null();
  }

  static NamedToken named(const Json& json, bool in_list, bool strips) {
    using From = NamedToken::From;
    AddedToken token = read_added_token(json, true);
    token.special = true;
    const bool has_flags = json.is_object();
    if (!has_flags || !json.has("lstrip")) token.strips_left = strips;
    return {std::move(token), !has_flags && !strips ? From::kText
                              : in_list             ? From::kListWithFlags
                                                    : From::kKeyWithFlags};
  }

  std::optional<Json> config_;
  std::optional<Json> map_;
  std::optional<Json> padding_;
  DefaultNames defaults_ = {};
  bool mask_strips_ = false;
};

/// Tokens by the numbers in a file, which give their order.
using NumberedTokens = std::map<index_t, AddedToken>;

/// added_tokens_decoder of tokenizer_config.json: {"50264": {"content": "<mask>", ...}}.
NumberedTokens decoder_tokens(const Json& decoder) {
  NumberedTokens tokens;
  for (const Json& token : decoder.as_object().items()) {
    std::int32_t id = -1;
    if (!parse_number(token.key(), id) || id < 0) {
      token.fail("the key must be a token id, got ", printable(token.key()));
    }
    if (!token.is_object() || token.size() == 0) {
      token.fail("must be an object with keys, got ", token.described());
    }
    tokens[id] = read_added_token(token);
  }
  return tokens;
}

using Contents = std::set<std::string, std::less<>>;

/// Without added_tokens_decoder: added_tokens.json, {"<ent>": 30522}, and then tokenizer.json,
/// `in_file`, of which only tokens with an effect are included.
NumberedTokens older_tokens(const fs::path& folder, const std::vector<AddedToken>& in_file,
                            const Contents& special) {
  NumberedTokens tokens;
  Contents repeated;
  if (const auto json = find_json(folder / "added_tokens.json", kSmallJson)) {
    for (const Json& number : json->as_object().items()) {
      check_content(number, number.key());
      const bool is_special = special.contains(number.key());
      tokens[number.integer(JsonRange{.low = 0})] = {
          .content = std::string(number.key()), .normalized = !is_special, .special = is_special};
      repeated.emplace(number.key());
    }
  }
  std::set<std::string_view> once;
  for (const AddedToken& token : in_file) {
    if (!once.insert(token.content).second) repeated.insert(token.content);
  }
  for (const AddedToken& token : in_file) {
    const bool becomes_special = !token.special && special.contains(token.content);
    if (becomes_special || repeated.contains(token.content) || tokens.contains(token.id)) {
      tokens[token.id] = token;
    }
  }
  return tokens;
}

/// The tokens that the folder adds to those of its tokenizer.json. With added_tokens_decoder, the
/// older files are not read; without it, special_tokens_map.json overrides tokenizer_config.json,
/// and tokenizer.json overrides added_tokens.json.
std::vector<AddedToken> folder_tokens(const fs::path& folder, const std::optional<Json>& decoder,
                                      const std::vector<AddedToken>& in_file,
                                      const NamedTokens& named) {
  std::vector<NamedToken> names;
  Contents special;
  for (NamedToken& name : named.all()) {
    if (special.insert(name.token.content).second) names.push_back(std::move(name));
  }
  NumberedTokens numbered =
      decoder ? decoder_tokens(*decoder) : older_tokens(folder, in_file, special);
  std::vector<AddedToken> added;
  std::set<std::string_view> known;    // whose texts need not be added
  std::set<std::string_view> flagged;  // whose flags count more than those of a key
  for (const AddedToken& token : in_file) known.insert(token.content);
  if (!decoder) flagged = known;
  for (auto& [id, token] : numbered) {
    token.special = token.special || special.contains(token.content);
    known.insert(token.content);
    if (decoder) flagged.insert(token.content);
    added.push_back(token);
  }
  for (auto& [token, from] : names) {
    if (from == NamedToken::From::kText && known.contains(token.content)) continue;
    if (from == NamedToken::From::kKeyWithFlags && flagged.contains(token.content)) continue;
    added.push_back(std::move(token));
  }
  return added;
}

}  // namespace

SpecialNames complete_names(SpecialNames names, const Vocabulary& tokens) {
  const auto choose = [&](std::optional<std::string>& name, const char* bert, const char* roberta) {
    if (!name) name = tokens.find(bert) ? bert : roberta;
  };
  choose(names.pad, "[PAD]", "<pad>");
  choose(names.unknown, "[UNK]", "<unk>");
  choose(names.cls, "[CLS]", "<s>");
  choose(names.sep, "[SEP]", "</s>");
  choose(names.mask, "[MASK]", "<mask>");
  return names;
}

/// Whether a tokenizer.json has all special tokens of a class.
bool has_names(const Json& tokenizer, const TokenizerClass& known) {
  std::set<std::string, std::less<>> added;
  for (AddedToken& token : read_added_tokens(tokenizer)) added.insert(std::move(token.content));
  const auto vocabulary = tokenizer.at("model").find("vocab");
  return std::ranges::all_of(known.names, [&](std::string_view name) {
    return name.empty() || added.contains(name) ||
           (vocabulary && vocabulary->is_object() && vocabulary->has(name));
  });
}

StepsJson StepsJson::of(const Json& tokenizer) {
  return {tokenizer.find("normalizer"), tokenizer.find("pre_tokenizer"),
          tokenizer.find("post_processor")};
}

TokenizerConfig read_tokenizer_config(const fs::path& folder, const std::optional<Json>& config,
                                      const std::optional<Json>& tokenizer) {
  if (const auto files = find(config, "fast_tokenizer_files")) {
    for (const Json& file : files->items()) {
      if (file.text() != "tokenizer.json") {
        file.fail("must be 'tokenizer.json', got ", printable(file.text()),
                  "; rename the file to tokenizer.json");
      }
    }
  }
  TokenizerConfig all;
  const std::optional<Json> name = named_class(folder, config);
  const std::string_view class_name = name ? name->text() : std::string_view();
  check_class(name);
  all.tokenizer_class = tokenizer ? find_class(class_name) : &class_of_files(folder, config, name);
  all.settings = settings_of(config, all.tokenizer_class, tokenizer);
  if (tokenizer) all.steps = steps_of(*tokenizer, config, all.tokenizer_class, class_name);

  const std::optional<Json> decoder = find(config, "added_tokens_decoder");
  // The model's own type may be that of a tokenizer of a different kind, with names of its own.
  const bool is_guess = tokenizer && name && name->key() == "model_type";
  const bool has_defaults =
      !is_guess || all.tokenizer_class == nullptr || has_names(*tokenizer, *all.tokenizer_class);
  const NamedTokens named(
      config, decoder ? std::nullopt : find_json(folder / "special_tokens_map.json", kSmallJson),
      find(tokenizer, "padding"), has_defaults ? all.tokenizer_class : nullptr);
  all.added =
      folder_tokens(folder, decoder,
                    tokenizer ? read_added_tokens(*tokenizer) : std::vector<AddedToken>(), named);
  all.names = {.pad = named.text("pad_token", "pad_token"),
               .unknown = named.text("unk_token", "unk_token"),
               .cls = named.text("cls_token", "bos_token"),
               .sep = named.text("sep_token", "eos_token"),
               .mask = named.text("mask_token", "mask_token")};
  return all;
}

}  // namespace tessera::text
