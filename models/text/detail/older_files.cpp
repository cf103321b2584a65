#include "models/text/detail/older_files.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "models/text/detail/subword_model.h"
#include "models/text/text_file.h"
#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::text {

namespace {

namespace fs = std::filesystem;

constexpr std::size_t kLongestToken = 1000;

/// Tokens with numbers, found by text.
class Numbers {
 public:
  Numbers(index_t most, index_t bytes) : index_(most) { tokens_.reserve(most, bytes); }

  /// Of equal tokens the last one counts.
  void set(std::string_view token, index_t id) {
    std::int32_t& place = index_.place(tokens_, token);
    if (place >= 0) tokens_.set(place, "");
    tokens_.set(id, token);
    place = static_cast<std::int32_t>(id);
  }
  std::optional<index_t> find(std::string_view token) const {
    const index_t id = index_.find(tokens_, token);
    return id < 0 ? std::nullopt : std::optional(id);
  }
  bool contains(std::string_view token) const { return find(token).has_value(); }
  const TokenList& tokens() const { return tokens_; }

 private:
  TokenList tokens_;
  TokenIndex index_;
};

SpecialNames names_of(const Numbers& numbers, const TokenizerConfig& config) {
  return special_names(config, [&](std::string_view name) { return numbers.contains(name); });
}

bool flag(const std::optional<Json>& config, std::string_view key, bool otherwise) {
  return config ? config->boolean(key, otherwise) : otherwise;
}

/// "added_tokens": the special ones, and those of added_tokens_decoder,
/// {"50264": {"content": ...}}.
JsonList added_tokens(const Numbers& numbers, const SpecialNames& names,
                      const std::optional<Json>& config) {
  std::map<index_t, JsonObject> added;
  for (const std::string& name : {names.pad, names.unknown, names.cls, names.sep, names.mask}) {
    const auto id = numbers.find(name);
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
      const std::string_view key = token.key();
      if (key.empty() || key.size() > 9 ||
          key.find_first_not_of("0123456789") != std::string_view::npos) {
        token.fail("the key must be a number of at most 9 digits, got ", printable(key));
      }
      if (!token.is_object() || token.size() == 0) {
        token.fail("must be an object with keys, got ", token.described());
      }
      const auto id = static_cast<index_t>(std::stol(std::string(key)));
      JsonObject& own = added[id] = JsonObject({{"id", id}});
      for (const Json& value : token.items()) own.add(value.key(), value);
    }
  }
  return json_list(added, [](const auto& token) { return token.second; });
}

JsonObject vocabulary_of(const Numbers& numbers) {
  const TokenList& tokens = numbers.tokens();
  JsonObject vocabulary;
  for (index_t id = 0; id < tokens.size(); ++id) {
    if (!tokens[id].empty()) vocabulary.add(tokens[id], id);
  }
  return vocabulary;
}

/// Errors: the vocabulary does not have it.
index_t number_of(const Numbers& numbers, const std::string& name, const std::string& file) {
  const auto id = numbers.find(name);
  if (!id) fail_file(file, "must have the special token ", printable(name), ", got none");
  return *id;
}

/// Tokens around texts: with [SEP] between two as BERT has it, or </s></s> as RoBERTa does.
JsonObject processor_of(const Numbers& numbers, const SpecialNames& names, bool prefix_space,
                        const std::string& file) {
  const auto token = [&](const std::string& name) {  // ["[SEP]", 102]
    return JsonList().add(name).add(number_of(numbers, name, file));
  };
  const bool is_roberta = names.sep.starts_with('<');
  return {{"type", is_roberta ? "RobertaProcessing" : "BertProcessing"},
          {"sep", token(names.sep)},
          {"cls", token(names.cls)},
          {"trim_offsets", true},
          {"add_prefix_space", prefix_space}};
}

/// A step of the type ByteLevel.
JsonObject byte_level(bool trims, bool prefix_space) {
  return {{"type", "ByteLevel"}, {"trim_offsets", trims}, {"add_prefix_space", prefix_space}};
}

/// The tokens of vocab.txt: lines, whose places are their numbers.
Numbers numbers_of_lines(std::string_view text, const std::string& file) {
  const index_t lines = std::count(text.begin(), text.end(), '\n') + 1;
  if (lines > kMostTokens) {
    fail_file(file, "must have at most ", kMostTokens, " lines, got ", lines);
  }
  Numbers numbers(lines, std::ssize(text));
  for (index_t id = 0; !text.empty(); ++id) {
    const std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    if (line.size() > kLongestToken) {
      fail_file(file, "line ", id + 1, ": a token must have at most ", kLongestToken,
                " bytes, got ", line.size());
    }
    if (!line.empty()) numbers.set(line, id);
  }
  return numbers;
}

JsonObject word_piece(const fs::path& vocabulary, const std::optional<Json>& config,
                      const TokenizerConfig& named) {
  const std::string file = vocabulary.string();
  const Numbers numbers = numbers_of_lines(read_text(vocabulary), file);
  const SpecialNames names = names_of(numbers, named);
  number_of(numbers, names.unknown, file);
  const auto accents = config ? config->find("strip_accents") : std::nullopt;
  JsonObject normalizer = {
      {"type", "BertNormalizer"},
      {"clean_text", true},
      {"handle_chinese_chars", flag(config, "tokenize_chinese_chars", true)},
      {"strip_accents", accents ? std::optional(accents->boolean()) : std::nullopt},
      {"lowercase", flag(config, "do_lower_case", true)}};
  JsonObject model = {{"type", "WordPiece"},
                      {"unk_token", names.unknown},
                      {"continuing_subword_prefix", "##"},
                      {"max_input_chars_per_word", 100}};
  model.add("vocab", vocabulary_of(numbers));
  return {{"version", "1.0"},
          {"added_tokens", added_tokens(numbers, names, config)},
          {"normalizer", std::move(normalizer)},
          {"pre_tokenizer", JsonObject({{"type", "BertPreTokenizer"}})},
          {"post_processor", processor_of(numbers, names, false, file)},
          {"decoder", JsonObject({{"type", "WordPiece"}, {"prefix", "##"}, {"cleanup", true}})},
          {"model", std::move(model)}};
}

/// The tokens of vocab.json. **Errors**: a number that two of them have.
Numbers numbers_of_json(const Json& list) {
  const index_t count = list.size();
  if (count > kMostTokens) list.fail("must have at most ", kMostTokens, " tokens, got ", count);
  Numbers numbers(count, 0);
  const JsonRange range = token_number_range(count);
  for (const Json& token : list.items()) {
    const index_t id = token.integer(range);
    const bool taken = id < numbers.tokens().size() && !numbers.tokens()[id].empty();
    if (taken) {
      token.fail("tokens must have different numbers, got ", id, " for ",
                 printable(numbers.tokens()[id]), " too");
    }
    if (!token.key().empty()) numbers.set(token.key(), id);
  }
  return numbers;
}

/// The lines of merges.txt.
JsonList merges_of(const fs::path& file) {
  const std::string text = read_text(file);
  JsonList merges;
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (!line.empty() && !line.starts_with("#version")) merges.add(line);
  }
  return merges;
}

JsonObject byte_pair(const fs::path& vocabulary, const fs::path& merges,
                     const std::optional<Json>& config, const TokenizerConfig& named) {
  const Numbers numbers = numbers_of_json(read_json(vocabulary).as_object());
  const SpecialNames names = names_of(numbers, named);
  const bool space = flag(config, "add_prefix_space", false);
  const bool has_ends = numbers.contains(names.cls) && numbers.contains(names.sep);
  const bool has_unknown = numbers.contains(names.unknown);
  JsonObject model = {{"type", "BPE"},
                      {"unk_token", has_unknown ? JsonText(names.unknown) : nullptr}};
  model.add("vocab", vocabulary_of(numbers)).add("merges", merges_of(merges));
  return {{"version", "1.0"},
          {"added_tokens", added_tokens(numbers, names, config)},
          {"normalizer", nullptr},
          {"pre_tokenizer", byte_level(true, space)},
          {"post_processor", has_ends ? processor_of(numbers, names, space, vocabulary.string())
                                      : byte_level(false, space)},
          {"decoder", byte_level(true, space)},
          {"model", std::move(model)}};
}

}  // namespace

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

}  // namespace tessera::text
