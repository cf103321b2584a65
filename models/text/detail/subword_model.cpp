#include "tessera/models/text/detail/subword_model.h"

#include <algorithm>
#include <stdexcept>

#include "tessera/tensor/error.h"
#include "tessera/tensor/io/file.h"

namespace tessera::text {

namespace {

/// Whole words as tokens; other words are unknown.
class WordLevel final : public SubwordModel {
 public:
  explicit WordLevel(const Json& json)
      : SubwordModel(read_tokens(json.at("vocab"))),
        trie_(tokens()),
        unknown_(trie_.find(json.text("unk_token", "[UNK]"))) {}

  void tokenize(std::string_view word, std::vector<Piece>& pieces, Effort&) const override {
    if (word.empty()) return;
    const std::optional<index_t> id = trie_.find(word);
    pieces.push_back({id ? *id : unknown_id(unknown_, word), {0, std::ssize(word)}});
  }

 private:
  Trie trie_;
  std::optional<index_t> unknown_;
};

std::unique_ptr<SubwordModel> read_word_level(const Json& json) {
  return std::make_unique<WordLevel>(json);
}

struct ModelKind {
  std::string_view name;
  std::unique_ptr<SubwordModel> (*read)(const Json&);
};
constexpr ModelKind kModelKinds[] = {{"WordPiece", read_word_piece},
                                     {"BPE", read_byte_pair},
                                     {"Unigram", read_unigram},
                                     {"WordLevel", read_word_level}};

/// The kind of a model in an old file that does not name it.
std::string kind_without_type(const Json& json) {
  if (json.has("merges")) return "BPE";
  if (json.at("vocab").is_list()) return "Unigram";
  return json.has("continuing_subword_prefix") ? "WordPiece" : "WordLevel";
}

}  // namespace

void fail_unknown(std::string_view word) {
  constexpr std::size_t kShown = 40;
  fail("encode", "the vocabulary must have an unknown token or ", printable(word.substr(0, kShown)),
       ", got neither");
}

ByteTokens byte_tokens(const Trie* trie) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  ByteTokens tokens;
  tokens.fill(Trie::kNoValue);
  for (std::size_t byte = 0; byte < tokens.size() && trie != nullptr; ++byte) {
    tokens[byte] = trie->find(str_cat("<0x", kDigits[byte / 16], kDigits[byte % 16], '>'))
                       .value_or(Trie::kNoValue);
  }
  return tokens;
}

void check_walked(std::string_view token, const char* op) {
  constexpr std::size_t kMostBytes = 1000;
  if (token.size() <= kMostBytes) return;
  fail(op, "tokens must have at most ", kMostBytes, " bytes, got ", token.size(), " in ",
       printable(token.substr(0, 40)), "...");
}

bool has_all(const ByteTokens& tokens, std::string_view text) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return tokens[static_cast<unsigned char>(c)] != Trie::kNoValue;
  });
}

TokenList read_tokens(const Json& json) {
  constexpr std::size_t kLongestToken = 2000;  // decoding writes tokens repeatedly
  constexpr index_t kMostGaps = 1 << 18;       // between numbers, which take memory too
  index_t count = 0;
  index_t bytes = 0;
  for (const Json& number : json.as_object().items()) {
    ++count;
    bytes += std::ssize(number.key());
    if (number.key().size() > kLongestToken) {
      number.fail("a token must have at most ", kLongestToken, " bytes, got ", number.key().size());
    }
  }
  if (count > kMostTokens) json.fail("must have at most ", kMostTokens, " tokens, got ", count);
  TokenList tokens;
  tokens.reserve(count, bytes);
  const JsonRange range = {0, 2 * count + kMostGaps};
  for (const Json& number : json.items()) {
    const index_t id = number.integer(range);
    if (id < tokens.size() && !tokens[id].empty()) {
      number.fail("tokens must have different numbers, got ", id, " for ", printable(tokens[id]),
                  " too");
    }
    tokens.set(id, number.key());
  }
  return tokens;
}

std::unique_ptr<SubwordModel> read_subword_model(const Json& json) {
  const std::string name = json.has("type") ? json.text("type") : kind_without_type(json);
  const auto* const kind = std::find_if(std::begin(kModelKinds), std::end(kModelKinds),
                                        [&](const ModelKind& known) { return known.name == name; });
  if (kind == std::end(kModelKinds)) {
    json.at("type").fail("must be 'WordPiece', 'BPE', 'Unigram' or 'WordLevel', got ",
                         printable(name));
  }
  try {
    return kind->read(json);
  } catch (const std::invalid_argument& error) {
    json.fail(error.what());
  }
}

}  // namespace tessera::text
