#include "tessera/models/text/character_tokenizer.h"

#include <utility>

#include "tessera/models/text/utf8.h"
#include "tessera/tensor/io/detail/utf8.h"

namespace tessera::text {

namespace {

/// Calls use(character, its first byte) for each character. Errors: bytes that are not UTF-8.
template <class Use>
void each_character(std::string_view text, const Use& use) {
  check_utf8(text, "split_characters");
  for (std::size_t at = 0; at < text.size();) {
    const std::size_t size = detail::code_point_size(text.substr(at));
    use(text.substr(at, size), static_cast<index_t>(at));
    at += size;
  }
}

}  // namespace

std::vector<std::string> split_characters(std::string_view text) {
  std::vector<std::string> characters;
  each_character(text,
                 [&](std::string_view character, index_t) { characters.emplace_back(character); });
  return characters;
}

CharacterTokenizer::CharacterTokenizer(Vocabulary vocabulary) : Tokenizer(std::move(vocabulary)) {}

CharacterTokenizer CharacterTokenizer::of(std::span<const std::string> texts,
                                          const VocabularyOptions& options) {
  TokenCounts counts;
  for (const std::string& text : texts) {
    each_character(text, [&](std::string_view character, index_t) { counts.add(character); });
  }
  return CharacterTokenizer(counts.vocabulary(options));
}

CharacterTokenizer CharacterTokenizer::from_json(const Json& json) {
  return CharacterTokenizer(vocabulary_from_json(json, [](std::string_view token) {
    return !token.empty() && detail::code_point_size(token) == token.size();
  }));
}

std::vector<Piece> CharacterTokenizer::split(std::string_view text) const {
  std::vector<Piece> pieces;
  each_character(text, [&](std::string_view character, index_t at) {
    pieces.push_back({id(character), {at, at + std::ssize(character)}});
  });
  return pieces;
}

std::string CharacterTokenizer::decode(std::span<const index_t> ids) const {
  std::string text;
  for (const index_t id : ids) text += token(id);
  return text;
}

std::string CharacterTokenizer::to_text() const {
  return vocabulary_to_text("characters", vocabulary());
}

}  // namespace tessera::text
