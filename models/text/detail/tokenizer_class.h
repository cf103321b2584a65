// The tokenizer classes of transformers: how a class reads its files, and its defaults.
#pragma once

#include <array>
#include <filesystem>
#include <optional>
#include <string_view>

#include "tessera/tensor/io/json.h"

namespace tessera::text {

/// The files from which a class builds its tokenizer if there is no tokenizer.json.
enum class ClassFiles {
  kNone,            // needs a tokenizer.json
  kWordPiece,       // vocab.txt, as BERT
  kByteLevel,       // vocab.json and merges.txt, as RoBERTa
  kPlainByteLevel,  // the same, without special tokens around texts, as GPT-2
  kWordEnds,        // the same, but the last token of a word ends with </w>, as HerBERT
  kOwnCode,         // cannot be built, even if there is a tokenizer.json: transformers ignores it
};

/// The special tokens that a class has by default, in the order of kSpecialKeys; empty: none.
using DefaultNames = std::array<std::string_view, 7>;
/// The keys of special tokens, in the order in which transformers adds them.
inline constexpr std::array<std::string_view, 7> kSpecialKeys = {
    "bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"};

struct TokenizerClass {
  std::string_view name;  // lower case, without "Tokenizer" and "Fast": the model_type, without '-'
  ClassFiles files;
  DefaultNames names;
  bool feeds_type_ids;  // whether models get token types, unless model_input_names says otherwise
  bool mask_strips;     // whether the default mask token takes the white space before it
};

/// The class with a name such as "BertTokenizerFast" or a model_type such as "xlm-roberta"; null if
/// it is unknown.
const TokenizerClass* find_class(std::string_view name);

/// The class that a folder names: the tokenizer_class of tokenizer_config.json or config.json, else
/// the model_type of config.json.
std::optional<Json> named_class(const std::filesystem::path& folder,
                                const std::optional<Json>& config);

/// Throws if the class has code of its own. **Errors**: std::runtime_error that names the file and
/// the class.
void check_class(const std::optional<Json>& name);

/// Whether a class is the one that reads any tokenizer.json and nothing else.
bool is_generic_class(std::string_view name);

/// The class of a folder without tokenizer.json: the one of `name`, from named_class, else BERT's
/// for a vocab.txt and RoBERTa's for a vocab.json. **Errors**: std::runtime_error that names the
/// file and the class: an unknown class, or one that needs a tokenizer.json.
const TokenizerClass& class_of_files(const std::filesystem::path& folder,
                                     const std::optional<Json>& config,
                                     const std::optional<Json>& name);

}  // namespace tessera::text
