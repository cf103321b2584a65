// The pre-tokenizers of BERT and of byte-level BPE, written for speed.
#pragma once

#include <string_view>

#include "models/text/detail/steps.h"
#include "models/text/detail/unicode.h"

namespace tessera::text {

/// Splits at white space, which is removed, and around each punctuation mark.
/// **Source**: Devlin et al., "BERT", 2018, as in the tokenizers library.
void split_as_bert(Words& words);

/// Splits words as in GPT-2 if `use_regex`, and writes each byte as a visible character; before, if
/// `add_prefix_space`, puts a space before each word without one.
///
/// The words are those of `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+|
/// ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`.
/// **Source**: Radford et al., "Language Models are Unsupervised Multitask Learners", 2019,
/// encoder.py.
void split_into_bytes(Words& words, bool add_prefix_space, bool use_regex);

/// Puts `prefix` before each word that does not begin with it, if `wanted(word)`.
template <class Wanted>
void prepend_to_words(std::string_view prefix, Words& words, Wanted wanted) {
  const auto missing = [&](Span word) {
    const auto at = static_cast<std::size_t>(word.begin);
    return word.begin < word.end &&
           !words.text.text.substr(at, prefix.size()).starts_with(prefix) && wanted(word);
  };
  check_growth(words.text,
               std::ssize(words.text.text) + std::ssize(words.spans) * std::ssize(prefix));
  AlignedWriter writer(words.text);
  for (Span& word : words.spans) {
    const index_t begin = writer.size();
    if (missing(word)) {
      const char first = words.text.text[static_cast<std::size_t>(word.begin)];
      const auto size = static_cast<index_t>(utf8_size(first));
      writer.put(prefix, words.text.origin(word.begin, word.begin + size));
    }
    writer.copy(word.begin, word.end);
    word = {begin, writer.size()};
  }
  writer.replace(words.text);
}

}  // namespace tessera::text
