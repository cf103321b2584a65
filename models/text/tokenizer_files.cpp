#include "tessera/models/text/tokenizers.h"

#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "tessera/models/text/detail/pipeline_tokenizer.h"
#include "tessera/models/text/detail/subword_model.h"
#include "tessera/models/text/detail/tokenizer_config.h"
#include "tessera/models/text/text_file.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/profile_span.h"

namespace tessera::text {

namespace {

namespace fs = std::filesystem;

// Tokenizers in formats older than tokenizer.json, converted to it.

constexpr std::size_t kLongestToken = 1000;

bool flag(const std::optional<Json>& config, std::string_view key, bool otherwise) {
  return config ? config->boolean(key, otherwise) : otherwise;
}

JsonObject vocab_json(const TokenList& tokens) {
  JsonObject vocabulary;
  for (index_t id = 0; id < tokens.size(); ++id) {
    if (!tokens[id].empty()) vocabulary.add(tokens[id], id);
  }
  return vocabulary;
}

/// The model's tokens and those that the folder adds, numbered as in the tokenizer.
Vocabulary with_added(const Vocabulary& tokens, const TokenizerConfig& named,
                      const std::string& file) {
  index_t model_size = 0;
  for (index_t id = 0; id < tokens.size(); ++id) model_size += !tokens.token(id).empty();
  try {
    Vocabulary all(tokens.tokens(), {}, std::ssize(named.added));
    number_tokens(named.added, model_size, all);
    return all;
  } catch (const std::invalid_argument& error) {
    fail_file(file, error.what());
  }
}

/// Errors: the vocabulary does not have the token.
index_t special_number(const Vocabulary& tokens, const std::string& name, const std::string& file) {
  if (name.empty()) fail_file(file, "special tokens of texts must have names, got null for one");
  const auto id = tokens.find(name);
  if (!id) fail_file(file, "must have the special token ", printable(name), ", got none");
  return *id;
}

/// Tokens around texts: one [SEP] between two texts as in BERT, or </s></s> as in RoBERTa.
JsonObject processor_of(std::string_view type, const Vocabulary& tokens, const SpecialNames& names,
                        const std::string& file) {
  const auto token = [&](const std::string& name) {  // ["[SEP]", 102]
    return JsonList().add(name).add(special_number(tokens, name, file));
  };
  return {{"type", type}, {"sep", token(*names.sep)}, {"cls", token(*names.cls)}};
}

std::string_view kind_of_ends(const SpecialNames& names) {
  return names.sep->starts_with('<') ? "RobertaProcessing" : "BertProcessing";
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
  const SpecialNames names = complete_names(named.names, tokens);
  const Vocabulary all = with_added(tokens, named, file);
  special_number(all, *names.unknown, file);
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
  return {{"normalizer", std::move(normalizer)},
          {"pre_tokenizer", JsonObject({{"type", "BertPreTokenizer"}})},
          {"post_processor",
           processor_of(kind_of_ends(names), all, names, file).add("trim_offsets", false)},
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

/// The model of vocab.json and merges.txt.
JsonObject byte_pair_model(const Vocabulary& tokens, const fs::path& merges) {
  return JsonObject({{"type", "BPE"}})
      .add("vocab", vocab_json(tokens.tokens()))
      .add("merges", merges_of(merges));
}

JsonObject byte_pair(const fs::path& vocabulary, const fs::path& merges,
                     const std::optional<Json>& config, const TokenizerConfig& named) {
  const Vocabulary tokens(read_tokens(read_json(vocabulary)));
  const SpecialNames names = complete_names(named.names, tokens);
  const bool space = flag(config, "add_prefix_space", false);
  const bool is_plain = named.tokenizer_class->files == ClassFiles::kPlainByteLevel;
  if (is_plain && flag(config, "add_bos_token", false)) {
    config->at("add_bos_token")
        .fail("must be false without tokenizer.json, got true; save one with transformers");
  }
  const Vocabulary all = with_added(tokens, named, vocabulary.string());
  const bool has_ends = !is_plain && all.find(*names.cls) && all.find(*names.sep);
  const auto ends = [&] {
    return processor_of(kind_of_ends(names), all, names, vocabulary.string())
        .add("trim_offsets", flag(config, "trim_offsets", true))
        .add("add_prefix_space", space);
  };
  return {{"pre_tokenizer", byte_level(true, space)},
          {"post_processor", has_ends ? ends() : byte_level(false, space)},
          {"decoder", byte_level(true, space)},
          {"model", byte_pair_model(tokens, merges)}};
}

/// HerBERT: byte pairs of BERT's words, of which the last token ends with </w>.
JsonObject word_ends(const fs::path& vocabulary, const fs::path& merges,
                     const TokenizerConfig& named) {
  constexpr const char* kEnd = "</w>";
  const Vocabulary tokens(read_tokens(read_json(vocabulary)));
  const SpecialNames names = complete_names(named.names, tokens);
  JsonObject model = byte_pair_model(tokens, merges);
  model.add("unk_token", *names.unknown).add("end_of_word_suffix", kEnd);
  return {{"normalizer", JsonObject({{"type", "BertNormalizer"},
                                     {"clean_text", true},
                                     {"handle_chinese_chars", true},
                                     {"strip_accents", false},
                                     {"lowercase", false}})},
          {"pre_tokenizer", JsonObject({{"type", "BertPreTokenizer"}})},
          {"post_processor",
           processor_of("BertProcessing", with_added(tokens, named, vocabulary.string()), names,
                        vocabulary.string())},
          {"decoder", JsonObject({{"type", "BPEDecoder"}, {"suffix", kEnd}})},
          {"model", std::move(model)}};
}

/// The tokenizer.json of a folder that has the files of its class instead; nullopt without them.
std::optional<std::string> older_tokenizer_json(const fs::path& folder,
                                                const std::optional<Json>& config,
                                                const TokenizerConfig& named) {
  const ClassFiles files = named.tokenizer_class->files;
  const bool is_word_piece = files == ClassFiles::kWordPiece;
  const fs::path vocabulary = folder / (is_word_piece ? "vocab.txt" : "vocab.json");
  if (!fs::exists(vocabulary)) return std::nullopt;
  if (is_word_piece) return word_piece(vocabulary, config, named).text();
  const fs::path merges = folder / "merges.txt";
  if (files == ClassFiles::kWordEnds) return word_ends(vocabulary, merges, named).text();
  return byte_pair(vocabulary, merges, config, named).text();
}

std::unique_ptr<Tokenizer> load_folder(const fs::path& folder) {
  const std::optional<Json> config = find_json(folder / "tokenizer_config.json", kSmallJson);
  const std::optional<Json> json = find_json(folder / "tokenizer.json");
  const TokenizerConfig all = read_tokenizer_config(folder, config, json);
  if (json) return pipeline_tokenizer(*json, all);
  for (const char* name : {"vocab.txt", "merges.txt"}) {
    if (fs::exists(folder / name)) refuse_incomplete_download(InputFile(folder / name));
  }
  if (const std::optional<std::string> text = older_tokenizer_json(folder, config, all)) {
    return pipeline_tokenizer(parse_json(*text, folder.string()), all);
  }
  fail_file(folder.string(),
            "must have a tokenizer (tokenizer.json, vocab.txt, or vocab.json and merges.txt), got "
            "none; save a tokenizer.json with transformers");
}

}  // namespace

std::unique_ptr<Tokenizer> load_tokenizer(const fs::path& path) {
  const ProfileScope scope("load tokenizer");
  if (fs::is_directory(path)) return load_folder(path);
  return tokenizer_from_text(read_text(path), path.string());
}

}  // namespace tessera::text
