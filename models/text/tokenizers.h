// Makes tokenizers: by name at run time, from files, and learned from texts.
//
//   const auto words = text::train_word_piece(lines, {.vocab_size = 4000});
//   words->save("tokenizer.json");        // Hugging Face's transformers can read this file
#pragma once

#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/models/text/tokenizer.h"

namespace tessera::text {

/// The kinds of make_tokenizer: "words", "characters", "wordpiece".
std::vector<std::string> tokenizer_kinds();

/// A tokenizer whose vocabulary is made from `texts`. "wordpiece" learns its tokens, and always has
/// a [SEP]. **Errors**: an unknown kind; as WordTokenizer::of, CharacterTokenizer::of or
/// train_word_piece.
std::unique_ptr<Tokenizer> make_tokenizer(std::string_view kind, std::span<const std::string> texts,
                                          const VocabularyOptions& options = {});

/// The tokenizer that `text` describes: the contents of a tokenizer.json, or the result of
/// Tokenizer::to_text, which is JSON too. **Errors**: any other text: a std::runtime_error whose
/// message begins with `file`.
/// **Source**: the tokenizer.json of the tokenizers library.
std::unique_ptr<Tokenizer> tokenizer_from_text(std::string_view text, const std::string& file);

/// The tokenizer in a file of Tokenizer::save, in a tokenizer.json, or in a model's folder. If
/// `path` is a folder, it must have tokenizer.json or the files of its class:
///
///   vocab.txt                  WordPiece, as in BERT
///   vocab.json, merges.txt     byte-level BPE, as in GPT-2 and RoBERTa; BPE, as in HerBERT
///
/// The folder's tokenizer_config.json, special_tokens_map.json and added_tokens.json give
/// settings(), the names of special() and further added tokens, and can change steps of
/// tokenizer.json, as in transformers; README.md lists their keys. A single file has no such
/// settings: pass the folder, if there is one.
/// **Errors**: as read_text and tokenizer_from_text, for each of these files; a folder without a
/// tokenizer; without tokenizer.json, a class that is not built from other files.
/// **Source**: the tokenizer.json of the tokenizers library; the files of
/// transformers.AutoTokenizer.
std::unique_ptr<Tokenizer> load_tokenizer(const std::filesystem::path& path);

/// The options of train_word_piece().
struct TokenizerTrainingOptions {
  index_t vocab_size = 30000;  // learning ends at this size; 0: when no pair is left
  index_t min_count = 0;       // the smallest count of a pair that becomes a token
  bool lower_case = true;      // texts become lower case, without accents
  // The largest number of characters that become tokens; rarer ones are unknown. 0: no limit.
  index_t max_characters = 1000;
};

/// A tokenizer like BERT's: words are split at white space and punctuation, then into WordPiece's
/// tokens. [PAD], [UNK], [CLS], [SEP] and [MASK] have the ids 0 to 4; [CLS] and [SEP] are put
/// around texts as BERT does.
/// **Errors**: texts that are not UTF-8; negative options.
/// **Source**: Wu et al., "Google's Neural Machine Translation System", 2016; Devlin et al.,
/// "BERT", 2018; the trainer of the tokenizers library.
std::unique_ptr<Tokenizer> train_word_piece(std::span<const std::string> texts,
                                            const TokenizerTrainingOptions& options = {});

}  // namespace tessera::text
