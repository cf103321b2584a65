#include "tessera/models/text/word_tokenizer.h"

#include <algorithm>
#include <utility>

#include "tessera/models/text/utf8.h"

namespace tessera::text {

namespace {

bool is_space(char c) {
  return c == ' ' || (c >= '\t' && c <= '\r');
}
bool is_letter_or_digit(char c) {
  const auto code = static_cast<unsigned char>(c);
  return code >= 0x80 || (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}
bool is_punctuation(char c) {
  return c > ' ' && c < 0x7f && !is_letter_or_digit(c);
}

/// Whether split_words can return this word.
bool is_word(std::string_view word) {
  if (word.size() == 1 && is_punctuation(word[0])) return true;
  return !word.empty() && std::all_of(word.begin(), word.end(), [](char c) {
    return !is_space(c) && !is_punctuation(c) && (c < 'A' || c > 'Z');
  });
}

std::string lower_case(std::string_view text, Span bytes) {
  std::string word(text_at(text, bytes));
  for (char& c : word) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c + ('a' - 'A'));
  }
  return word;
}

}  // namespace

std::vector<Span> word_spans(std::string_view text) {
  std::vector<Span> spans;
  bool continues = false;  // whether the next character may belong to the last word
  for (index_t at = 0; at < std::ssize(text); ++at) {
    const char c = text[static_cast<std::size_t>(at)];
    const bool joins = !is_space(c) && !is_punctuation(c);
    if (joins && continues) {
      ++spans.back().end;
    } else if (!is_space(c)) {
      spans.push_back({at, at + 1});
    }
    continues = joins;
  }
  return spans;
}

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words;
  for (const Span span : word_spans(text)) words.push_back(lower_case(text, span));
  return words;
}

WordTokenizer::WordTokenizer(Vocabulary vocabulary) : Tokenizer(std::move(vocabulary)) {}

WordTokenizer WordTokenizer::of(std::span<const std::string> texts,
                                const VocabularyOptions& options) {
  TokenCounts counts;
  for (const std::string& text : texts) {
    check_utf8(text, "WordTokenizer", &text - texts.data());
    for (const std::string& word : split_words(text)) counts.add(word);
  }
  return WordTokenizer(counts.vocabulary(options));
}

WordTokenizer WordTokenizer::from_json(const Json& json) {
  return WordTokenizer(vocabulary_from_json(json, is_word));
}

std::vector<Piece> WordTokenizer::split(std::string_view text) const {
  std::vector<Piece> pieces;
  for (const Span span : word_spans(text)) pieces.push_back({id(lower_case(text, span)), span});
  return pieces;
}

std::string WordTokenizer::decode(std::span<const index_t> ids) const {
  std::string text;
  for (const index_t id : ids) {
    if (!text.empty()) text += ' ';
    text += token(id);
  }
  return text;
}

std::string WordTokenizer::to_text() const {
  return vocabulary_to_text("words", vocabulary());
}

}  // namespace tessera::text
