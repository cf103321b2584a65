// Tokenizers chosen by name at run time, read from files, and learned from texts.
//
//   const auto words = text::train_word_piece(lines, {.vocabulary_size = 4000});
//   words->save("tokenizer.json");                                     // transformers reads it too
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/tokenizer.h"

namespace tessera::text {

/// The kinds that make_tokenizer can make: "words", "characters", "wordpiece", "bpe".
std::vector<std::string> tokenizer_kinds();

/// A tokenizer whose vocabulary comes from `texts`. "wordpiece" and "bpe" learn their tokens, and
/// always have a [SEP]. **Errors**: an unknown kind; those of TokenCounts and the trainers.
std::unique_ptr<Tokenizer> make_tokenizer(std::string_view kind, std::span<const std::string> texts,
                                          const VocabularyOptions& options = {});

/// The tokenizer that `text` describes: a result of to_text, whose first line names the kind, or a
/// tokenizer.json, which begins with {.
/// **Errors**: std::runtime_error that begins with `file`: other text.
std::unique_ptr<Tokenizer> tokenizer_from_text(std::string_view text, const std::string& file);

/// The tokenizer in a file of Tokenizer::save, in a tokenizer.json, or in a model's folder:
///
///   tokenizer.json                         as it is; or, without it,
///   vocab.txt                              WordPiece, or
///   vocab.json, merges.txt                 byte-level BPE, as GPT-2 and RoBERTa have it
///   tokenizer_config.json, special_tokens_map.json: settings() and special(), if they are there
///
/// A file has no settings(): give the folder, if there is one.
/// **Errors**: as tokenizer_from_text; no such file; a folder without a tokenizer.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path);

/// The options of train_word_piece() and train_byte_pair().
struct TokenizerTraining {
  index_t vocabulary_size = 30000;  // in tokens; 0: learning ends when all words are whole
  index_t min_count = 0;            // fewest occurrences of a pair that becomes a token
  bool lower_case = true;           // lower case, without accents; only WordPiece
  index_t most_characters = 1000;   // in the alphabet; rarer ones are unknown; only WordPiece
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
