// Makes tokenizers: by name at run time, from files, and learned from texts.
//
//   const auto words = text::train_word_piece(lines, {.vocabulary_size = 4000});
//   words->save("tokenizer.json");                                     // also for transformers
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/tokenizer.h"

namespace tessera::text {

/// The kinds of make_tokenizer: "words", "characters", "wordpiece", "bpe".
std::vector<std::string> tokenizer_kinds();

/// A tokenizer whose vocabulary is from `texts`. "wordpiece" and "bpe" learn their tokens, and
/// always have a [SEP]. **Errors**: an unknown kind; as TokenCounts and the trainers.
std::unique_ptr<Tokenizer> make_tokenizer(std::string_view kind, std::span<const std::string> texts,
                                          const VocabularyOptions& options = {});

/// The tokenizer that `text` describes: a result of to_text, whose first line names the kind, or a
/// tokenizer.json, which begins with {.
/// **Errors**: std::runtime_error that begins with `file`: any other text.
/// **Source**: the tokenizer.json of the tokenizers library.
std::unique_ptr<Tokenizer> tokenizer_from_text(std::string_view text, const std::string& file);

/// The tokenizer in a file of Tokenizer::save, in a tokenizer.json, or in a model's folder:
///
///   tokenizer.json                         unchanged; or, without it,
///   vocab.txt                              WordPiece, or
///   vocab.json, merges.txt                 byte-level BPE, as in GPT-2 and RoBERTa
///   tokenizer_config.json, special_tokens_map.json: settings() and special(), if they exist
///
/// A single file has no settings(): pass the folder, if there is one.
/// **Errors**: as tokenizer_from_text; no such file; a folder without a tokenizer.
/// **Source**: the tokenizer.json of the tokenizers library; the files of
/// transformers.AutoTokenizer.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path);

/// The options of train_word_piece() and train_byte_pair().
struct TokenizerTrainingOptions {
  index_t vocabulary_size = 30000;  // in tokens; 0: learning ends when all words are whole
  index_t min_count = 0;            // the least count of a pair that becomes a token
  bool lower_case = true;           // lower case, without accents; only WordPiece
  index_t max_characters = 1000;    // in the alphabet; rarer ones are unknown; only WordPiece
};

/// A tokenizer like BERT's: words are split at white space and punctuation, then into WordPiece's
/// tokens. Both tokenizers have [PAD], [UNK], [CLS], [SEP] and [MASK] as 0 to 4, and the layout of
/// BERT.
/// **Errors**: as learn_subwords; texts that are not UTF-8.
/// **Source**: Wu et al., "Google's Neural Machine Translation System", 2016; Devlin et al.,
/// "BERT", 2018; the trainer of the tokenizers library.
std::unique_ptr<Tokenizer> train_word_piece(std::span<const std::string> texts,
                                            const TokenizerTrainingOptions& options = {});

/// A tokenizer like RoBERTa's: byte-level byte-pair encoding, which has no unknown texts.
/// **Errors**: as train_word_piece.
/// **Source**: Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units",
/// 2016; Radford et al., "Language Models are Unsupervised Multitask Learners", 2019, section 2.2,
/// for bytes; the trainer of the tokenizers library.
std::unique_ptr<Tokenizer> train_byte_pair(std::span<const std::string> texts,
                                           const TokenizerTrainingOptions& options = {});

}  // namespace tessera::text
