#include "tessera/models/text/tokenizers.h"

#include <iterator>
#include <optional>
#include <utility>

#include "tessera/models/text/character_tokenizer.h"
#include "tessera/models/text/detail/pipeline_tokenizer.h"
#include "tessera/models/text/word_tokenizer.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/json.h"

namespace tessera::text {

namespace {

struct TokenizerKind {
  std::string_view name;  // the "type" in to_text
  std::unique_ptr<Tokenizer> (*of)(std::span<const std::string>, const VocabularyOptions&);
  std::unique_ptr<Tokenizer> (*from_json)(const Json&);
};

template <class T>
constexpr TokenizerKind kind(std::string_view name) {
  return {name,
          [](std::span<const std::string> texts, const VocabularyOptions& options)
              -> std::unique_ptr<Tokenizer> { return std::make_unique<T>(T::of(texts, options)); },
          [](const Json& json) -> std::unique_ptr<Tokenizer> {
            return std::make_unique<T>(T::from_json(json));
          }};
}

/// A kind of tokenizer that is trained. Its to_text is a tokenizer.json without a "type".
template <auto train>
constexpr TokenizerKind learned_kind(std::string_view name) {
  return {name,
          [](std::span<const std::string> texts, const VocabularyOptions& options) {
            return train(texts, {.vocab_size = options.max_size, .min_count = options.min_count});
          },
          nullptr};
}

constexpr TokenizerKind kTokenizerKinds[] = {
    kind<WordTokenizer>("words"),
    kind<CharacterTokenizer>("characters"),
    learned_kind<train_word_piece>("wordpiece"),
};

const TokenizerKind* find_kind(std::string_view name) {
  for (const TokenizerKind& kind : kTokenizerKinds) {
    if (kind.name == name) return &kind;
  }
  return nullptr;
}

/// 'words', 'characters' or 'wordpiece'
std::string known_kinds() {
  std::string names;
  for (const TokenizerKind& kind : kTokenizerKinds) {
    const bool is_last = &kind == std::end(kTokenizerKinds) - 1;
    names += str_cat(names.empty() ? "'" : is_last ? " or '" : ", '", kind.name, "'");
  }
  return names;
}

}  // namespace

std::vector<std::string> tokenizer_kinds() {
  std::vector<std::string> names;
  for (const TokenizerKind& kind : kTokenizerKinds) names.emplace_back(kind.name);
  return names;
}

std::unique_ptr<Tokenizer> make_tokenizer(std::string_view kind, std::span<const std::string> texts,
                                          const VocabularyOptions& options) {
  const TokenizerKind* const found = find_kind(kind);
  require(found != nullptr, "make_tokenizer", "kind must be ", known_kinds(), ", got ",
          printable(kind));
  return found->of(texts, options);
}

std::unique_ptr<Tokenizer> tokenizer_from_text(std::string_view text, const std::string& file) {
  const Json json = parse_json(text, file);
  const std::optional<Json> type = json.find("type");
  if (!type) return pipeline_tokenizer(json);
  const TokenizerKind* const found = find_kind(type->text());
  if (found == nullptr || found->from_json == nullptr) {
    type->fail("must be 'words' or 'characters', got ", type->described());
  }
  return found->from_json(json);
}

}  // namespace tessera::text
