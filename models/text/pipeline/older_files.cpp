#include "models/text/pipeline/older_files.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <utility>

#include "models/text/pipeline/subword_model.h"
#include "models/text/text_file.h"
#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/io/json_writer.h"

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
std::string added_tokens(const Numbers& numbers, const SpecialNames& names,
                         const std::optional<Json>& config) {
  std::map<index_t, std::string> added;
  for (const std::string& name : {names.pad, names.unknown, names.cls, names.sep, names.mask}) {
    const auto id = numbers.find(name);
    if (!id) continue;
    added[*id] = str_cat(R"({"id":)", *id, R"(,"content":)", json_quoted(name),
                         R"(,"single_word":false,"lstrip":)", name == "<mask>" ? "true" : "false",
                         R"(,"rstrip":false,"normalized":false,"special":true})");
  }
  const auto more = config ? config->find("added_tokens_decoder") : std::nullopt;
  if (more) {
    for (const Json& token : more->items()) {
      const std::string_view key = token.key();
      if (key.empty() || key.size() > 9 ||
          key.find_first_not_of("0123456789") != std::string_view::npos) {
        token.fail("the key must be a number of at most 9 digits, got ", printable(key));
      }
      std::string text;
      write_json(token, text);
      if (text.size() < 3 || text[0] != '{') {
        token.fail("must be an object with keys, got ", token.described());
      }
      const auto id = static_cast<index_t>(std::stol(std::string(key)));
      added[id] = str_cat(R"({"id":)", id, ",", std::string_view(text).substr(1));
    }
  }
  std::string list;
  for (const auto& [id, token] : added) list += (list.empty() ? "" : ",") + token;
  return "[" + list + "]";
}

/// Appends {token: number, ...}.
void add_vocabulary(const Numbers& numbers, std::string& out) {
  const TokenList& tokens = numbers.tokens();
  char mark = '{';
  for (index_t id = 0; id < tokens.size(); ++id) {
    if (tokens[id].empty()) continue;
    out += std::exchange(mark, ',');
    (out += json_quoted(tokens[id])) += ':';
    out += std::to_string(id);
  }
  if (mark == '{') out += mark;
  out += '}';
}

/// ["[SEP]", 102]. Errors: the vocabulary does not have it.
std::string token_json(const Numbers& numbers, const std::string& name, const std::string& file) {
  const auto id = numbers.find(name);
  if (!id) fail_file(file, "must have the special token ", printable(name), ", got none");
  return str_cat("[", json_quoted(name), ",", *id, "]");
}

/// Tokens around texts: with [SEP] between two as BERT has it, or </s></s> as RoBERTa does.
std::string processor_json(const Numbers& numbers, const SpecialNames& names, bool prefix_space,
                           const std::string& file) {
  const bool is_roberta = names.sep.starts_with('<');
  return str_cat(
      R"({"type":")", is_roberta ? "RobertaProcessing" : "BertProcessing", R"(","sep":)",
      token_json(numbers, names.sep, file), R"(,"cls":)", token_json(numbers, names.cls, file),
      R"(,"trim_offsets":true,"add_prefix_space":)", prefix_space ? "true" : "false", "}");
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

std::string word_piece_json(const fs::path& vocabulary, const std::optional<Json>& config,
                            const TokenizerConfig& named) {
  const std::string file = vocabulary.string();
  const Numbers numbers = numbers_of_lines(read_text(vocabulary), file);
  const SpecialNames names = names_of(numbers, named);
  token_json(numbers, names.unknown, file);
  const bool lower = flag(config, "do_lower_case", true);
  const auto accents = config ? config->find("strip_accents") : std::nullopt;
  std::string json = str_cat(
      R"({"version":"1.0","added_tokens":)", added_tokens(numbers, names, config),
      R"(,"normalizer":{"type":"BertNormalizer","clean_text":true,"handle_chinese_chars":)",
      flag(config, "tokenize_chinese_chars", true) ? "true" : "false", R"(,"strip_accents":)",
      !accents             ? "null"
      : accents->boolean() ? "true"
                           : "false",
      R"(,"lowercase":)", lower ? "true" : "false",
      R"(},"pre_tokenizer":{"type":"BertPreTokenizer"},"post_processor":)",
      processor_json(numbers, names, false, file),
      R"(,"decoder":{"type":"WordPiece","prefix":"##","cleanup":true},)",
      R"("model":{"type":"WordPiece","unk_token":)", json_quoted(names.unknown),
      R"(,"continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":)");
  add_vocabulary(numbers, json);
  return json += "}}";
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

/// Appends the lines of merges.txt as a list.
void add_merges(const fs::path& file, std::string& out) {
  const std::string text = read_text(file);
  char mark = '[';
  for (std::string_view rest = text; !rest.empty();) {
    const std::string_view line = rest.substr(0, rest.find('\n'));
    rest.remove_prefix(std::min(line.size() + 1, rest.size()));
    if (line.empty() || line.starts_with("#version")) continue;
    out += std::exchange(mark, ',');
    out += json_quoted(line);
  }
  if (mark == '[') out += mark;
  out += ']';
}

std::string byte_pair_json(const fs::path& vocabulary, const fs::path& merges,
                           const std::optional<Json>& config, const TokenizerConfig& named) {
  const Numbers numbers = numbers_of_json(read_json(vocabulary).as_object());
  const SpecialNames names = names_of(numbers, named);
  const bool prefix_space = flag(config, "add_prefix_space", false);
  const char* const space = prefix_space ? "true" : "false";
  const bool has_ends = numbers.contains(names.cls) && numbers.contains(names.sep);
  std::string json = str_cat(
      R"({"version":"1.0","added_tokens":)", added_tokens(numbers, names, config),
      R"(,"normalizer":null,"pre_tokenizer":{"type":"ByteLevel","trim_offsets":true,)",
      R"("add_prefix_space":)", space, R"(},"post_processor":)",
      has_ends
          ? processor_json(numbers, names, prefix_space, vocabulary.string())
          : str_cat(R"({"type":"ByteLevel","trim_offsets":false,"add_prefix_space":)", space, "}"),
      R"(,"decoder":{"type":"ByteLevel","trim_offsets":true,"add_prefix_space":)", space,
      R"(},"model":{"type":"BPE","unk_token":)",
      numbers.contains(names.unknown) ? json_quoted(names.unknown) : "null", R"(,"vocab":)");
  add_vocabulary(numbers, json);
  json += R"(,"merges":)";
  add_merges(merges, json);
  return json += "}}";
}

}  // namespace

std::optional<std::string> older_tokenizer_json(const fs::path& folder,
                                                const std::optional<Json>& config,
                                                const TokenizerConfig& names) {
  if (const fs::path text = folder / "vocab.txt"; fs::exists(text)) {
    return word_piece_json(text, config, names);
  }
  const fs::path list = folder / "vocab.json";
  if (!fs::exists(list)) return std::nullopt;
  return byte_pair_json(list, folder / "merges.txt", config, names);
}

}  // namespace tessera::text
