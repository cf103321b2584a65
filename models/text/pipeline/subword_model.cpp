#include "models/text/pipeline/subword_model.h"

#include <algorithm>
#include <stdexcept>

#include "models/text/pipeline/byte_pair.h"
#include "models/text/pipeline/subword_vocabulary.h"
#include "models/text/pipeline/unigram.h"
#include "models/text/pipeline/word_level.h"
#include "models/text/pipeline/word_piece.h"
#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::text {

namespace {

struct Kind {
  std::string_view name;
  std::unique_ptr<SubwordModel> (*read)(const Json&);
};
constexpr Kind kKinds[] = {{"WordPiece", read_word_piece},
                           {"BPE", read_byte_pair},
                           {"Unigram", read_unigram},
                           {"WordLevel", read_word_level}};

/// The kind of a model of an old file, which does not name it.
std::string kind_without_type(const Json& json) {
  if (json.has("merges")) return "BPE";
  if (json.at("vocab").is_list()) return "Unigram";
  return json.has("continuing_subword_prefix") ? "WordPiece" : "WordLevel";
}

std::vector<Trie::Entry> trie_entries(const TokenNumbers& numbers) {
  std::vector<Trie::Entry> entries;
  entries.reserve(numbers.size());
  for (const auto& [token, number] : numbers) entries.push_back({token, number});
  return entries;
}

std::vector<std::string> tokens_by_number(const TokenNumbers& numbers, const char* op) {
  const index_t most = token_number_range(std::ssize(numbers)).high;
  index_t size = 0;
  for (const auto& [token, number] : numbers) {
    require(number >= 0 && number <= most, op, "the token ", printable(token), " has number ",
            number, ", wanted 0 to ", most);
    size = std::max(size, number + 1);
  }
  std::vector<std::string> tokens(static_cast<std::size_t>(size));
  for (const auto& [token, number] : numbers) {
    std::string& place = tokens[static_cast<std::size_t>(number)];
    require(place.empty(), op, "number ", number, " has two tokens, ", printable(place), " and ",
            printable(token));
    place = token;
  }
  return tokens;
}

}  // namespace

SubwordVocabulary::SubwordVocabulary(const TokenNumbers& numbers, const char* op)
    : tokens(tokens_by_number(numbers, op)), trie(trie_entries(numbers)) {
  for (const auto& [token, number] : numbers) {
    require(trie.find(token) == number, op, "the token ", printable(token), " stands there twice");
  }
}

index_t unknown_id(std::optional<index_t> id, std::string_view word) {
  constexpr std::size_t kShown = 40;
  require(id.has_value(), "encode", "the vocabulary has neither ",
          printable(word.substr(0, kShown)), " nor an unknown token");
  return *id;
}

ByteTokens byte_tokens(const Trie* trie) {
  constexpr std::string_view kDigits = "0123456789ABCDEF";
  ByteTokens tokens;
  tokens.fill(Trie::kNoValue);
  for (std::size_t byte = 0; byte < tokens.size() && trie != nullptr; ++byte) {
    tokens[byte] = trie->find(format("<0x", kDigits[byte / 16], kDigits[byte % 16], '>'));
  }
  return tokens;
}

void check_walked(std::string_view token, const char* op) {
  constexpr std::size_t kMostBytes = 1000;
  require(token.size() <= kMostBytes, op, "wanted tokens of at most ", kMostBytes, " bytes, got ",
          token.size(), " in ", printable(token.substr(0, 40)), "...");
}

bool has_all(const ByteTokens& tokens, std::string_view text) {
  return std::all_of(text.begin(), text.end(), [&](char c) {
    return tokens[static_cast<unsigned char>(c)] != Trie::kNoValue;
  });
}

JsonRange token_number_range(index_t tokens) {
  return {0, 16 * tokens + (1 << 20)};
}

TokenNumbers read_token_numbers(const Json& json) {
  TokenNumbers numbers;
  const JsonRange range = token_number_range(json.as_object().size());
  numbers.reserve(static_cast<std::size_t>(json.size()));
  for (const Json& number : json.items()) {
    numbers.emplace_back(number.key(), number.integer(range));
  }
  return numbers;
}

std::unique_ptr<SubwordModel> read_subword_model(const Json& json) {
  const std::string name = json.has("type") ? json.text("type") : kind_without_type(json);
  const auto* const kind = std::find_if(std::begin(kKinds), std::end(kKinds),
                                        [&](const Kind& known) { return known.name == name; });
  if (kind == std::end(kKinds)) {
    json.at("type").fail("wanted 'WordPiece', 'BPE', 'Unigram' or 'WordLevel', got ",
                         printable(name));
  }
  try {
    return kind->read(json);
  } catch (const std::invalid_argument& error) {
    json.fail(error.what());
  }
}

}  // namespace tessera::text
