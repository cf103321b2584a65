// Tokenizers learned from texts.
//
//   const auto words = text::train_word_piece(lines, {.vocabulary_size = 4000});
//   words->save("tokenizer.json");                                     // transformers reads it too
#pragma once

#include <memory>
#include <span>
#include <string>

#include "models/text/tokenizer.h"

namespace tessera::text {

struct TokenizerTraining {
  index_t vocabulary_size = 30000;  // at which learning ends; 0: when all words are whole
  index_t min_count = 0;            // of a pair that becomes a token
  bool lower_case = true;           // and without accents; only WordPiece
  index_t most_characters = 1000;   // in the alphabet, the rarer ones unknown; only WordPiece
};

/// A tokenizer like BERT's: words are cut at white space and punctuation, then into WordPiece's
/// tokens. Both tokenizers have [PAD], [UNK], [CLS], [SEP] and [MASK] as 0 to 4, and the layout of
/// BERT.
/// **Errors**: as learn_subwords; texts that are not UTF-8.
std::unique_ptr<Tokenizer> train_word_piece(std::span<const std::string> texts,
                                            const TokenizerTraining& options = {});

/// A tokenizer like RoBERTa's: byte-level byte-pair encoding, in which no text has an unknown part.
/// **Errors**: as train_word_piece.
std::unique_ptr<Tokenizer> train_byte_pair(std::span<const std::string> texts,
                                           const TokenizerTraining& options = {});

}  // namespace tessera::text
