#include "models/text/pipeline/older_files.h"

#include <algorithm>
#include <map>
#include <string_view>
#include <vector>

#include "models/text/pipeline/json_text.h"
#include "models/text/text_file.h"
#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::text {

namespace {

namespace fs = std::filesystem;

using Numbers = std::map<std::string, index_t, std::less<>>;

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
    const auto at = numbers.find(name);
    if (at == numbers.end()) continue;
    added[at->second] =
        format(R"({"id":)", at->second, R"(,"content":)", json_quoted(name),
               R"(,"single_word":false,"lstrip":)", name == "<mask>" ? "true" : "false",
               R"(,"rstrip":false,"normalized":false,"special":true})");
  }
  const auto more = config ? config->find("added_tokens_decoder") : std::nullopt;
  if (more) {
    for (const Json& token : more->items()) {
      const std::string_view key = token.key();
      if (key.empty() || key.size() > 9 ||
          key.find_first_not_of("0123456789") != std::string_view::npos) {
        token.fail("wanted a number as the key, got ", printable(key));
      }
      std::string text;
      write_json(token, text);
      if (text.size() < 3 || text[0] != '{')
        token.fail("wanted an object, got ", token.described());
      const auto id = static_cast<index_t>(std::stol(std::string(key)));
      added[id] = format(R"({"id":)", id, ",", std::string_view(text).substr(1));
    }
  }
  std::string list;
  for (const auto& [id, token] : added) list += (list.empty() ? "" : ",") + token;
  return "[" + list + "]";
}

std::string vocabulary_json(const Numbers& numbers) {
  std::string list;
  for (const auto& [token, id] : numbers) {
    if (!list.empty()) list += ',';
    list += json_quoted(token) + ":" + std::to_string(id);
  }
  return "{" + list + "}";
}

/// ["[SEP]", 102]. Errors: the vocabulary does not have it.
std::string token_json(const Numbers& numbers, const std::string& name, const std::string& file) {
  const auto at = numbers.find(name);
  if (at == numbers.end()) fail_file(file, "the special token ", printable(name), " is not there");
  return format("[", json_quoted(name), ",", at->second, "]");
}

/// Tokens around texts: with [SEP] between two as BERT has it, or </s></s> as RoBERTa does.
std::string processor_json(const Numbers& numbers, const SpecialNames& names, bool prefix_space,
                           const std::string& file) {
  const bool is_roberta = names.sep.starts_with('<');
  return format(R"({"type":")", is_roberta ? "RobertaProcessing" : "BertProcessing", R"(","sep":)",
                token_json(numbers, names.sep, file), R"(,"cls":)",
                token_json(numbers, names.cls, file), R"(,"trim_offsets":true,"add_prefix_space":)",
                prefix_space ? "true" : "false", "}");
}

std::string word_piece_json(const fs::path& vocabulary, const std::optional<Json>& config,
                            const TokenizerConfig& named) {
  Numbers numbers;
  index_t id = 0;
  for (const std::string& line : read_lines(vocabulary)) {
    if (!line.empty()) numbers[line] = id;  // of equal lines the last counts
    ++id;
  }
  const SpecialNames names = names_of(numbers, named);
  const std::string file = vocabulary.string();
  token_json(numbers, names.unknown, file);
  const bool lower = flag(config, "do_lower_case", true);
  const auto accents = config ? config->find("strip_accents") : std::nullopt;
  return format(
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
      R"(,"continuing_subword_prefix":"##","max_input_chars_per_word":100,"vocab":)",
      vocabulary_json(numbers), "}}");
}

std::string byte_pair_json(const fs::path& vocabulary, const fs::path& merges,
                           const std::optional<Json>& config, const TokenizerConfig& named) {
  const Json list = read_json(vocabulary);
  Numbers numbers;
  for (const Json& token : list.items()) {
    numbers.emplace(token.key(), token.integer(JsonRange{0, 1'000'000'000}));
  }
  const SpecialNames names = names_of(numbers, named);
  const bool prefix_space = flag(config, "add_prefix_space", false);
  const char* const space = prefix_space ? "true" : "false";
  std::string pairs;
  for (const std::string& line : read_lines(merges)) {
    if (line.empty() || line.starts_with("#version")) continue;
    if (!pairs.empty()) pairs += ',';
    pairs += json_quoted(line);
  }
  const bool has_ends = numbers.contains(names.cls) && numbers.contains(names.sep);
  return format(R"({"version":"1.0","added_tokens":)", added_tokens(numbers, names, config),
                R"(,"normalizer":null,"pre_tokenizer":{"type":"ByteLevel","trim_offsets":true,)",
                R"("add_prefix_space":)", space, R"(},"post_processor":)",
                has_ends ? processor_json(numbers, names, prefix_space, vocabulary.string())
                         : format(R"({"type":"ByteLevel","trim_offsets":false,"add_prefix_space":)",
                                  space, "}"),
                R"(,"decoder":{"type":"ByteLevel","trim_offsets":true,"add_prefix_space":)", space,
                R"(},"model":{"type":"BPE","unk_token":)",
                numbers.contains(names.unknown) ? json_quoted(names.unknown) : "null",
                R"(,"vocab":)", vocabulary_json(numbers), R"(,"merges":[)", pairs, "]}}");
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
