// The settings of a tokenizer in the files next to its tokenizer.json. README.md lists the keys of
// these files.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tessera/models/text/detail/added_tokens.h"
#include "tessera/models/text/detail/tokenizer_class.h"
#include "tessera/models/text/tokenizer.h"
#include "tessera/tensor/io/json.h"

namespace tessera::text {

/// The special tokens of a tokenizer.
struct SpecialNames {
  std::optional<std::string> pad = {};
  std::optional<std::string> unknown = {};
  std::optional<std::string> cls = {};
  std::optional<std::string> sep = {};
  std::optional<std::string> mask = {};
};

/// The steps of a tokenizer.json that its folder can change.
struct StepsJson {
  std::optional<Json> normalizer = {};
  std::optional<Json> pre_tokenizer = {};
  std::optional<Json> post_processor = {};

  static StepsJson of(const Json& tokenizer);
};

/// The settings of a folder in addition to its tokenizer.json.
struct TokenizerConfig {
  TokenizerSettings settings = {};
  const TokenizerClass* tokenizer_class = nullptr;  // null: the folder names no known class
  SpecialNames names = {};                          // as named by the folder or its class
  std::vector<AddedToken> added = {};   // after those of tokenizer.json, in the order of numbers
  std::optional<StepsJson> steps = {};  // instead of those of tokenizer.json
};

/// The settings of a folder. `config` is its tokenizer_config.json, and `tokenizer` its
/// tokenizer.json, if it has them.
/// **Errors**: std::runtime_error that names the file and the place.
/// **Source**: the constructor of PreTrainedTokenizerFast in transformers 4.57, and of
/// TokenizersBackend in transformers 5.
TokenizerConfig read_tokenizer_config(const std::filesystem::path& folder,
                                      const std::optional<Json>& config,
                                      const std::optional<Json>& tokenizer);

/// `names`; absent ones are the usual ones: BERT's if `tokens` has them, else RoBERTa's.
SpecialNames complete_names(SpecialNames names, const Vocabulary& tokens);

}  // namespace tessera::text
