// The tokenizer given by an option.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "models/text/tokenizer.h"

namespace tessera::examples {

/// The help text of such an option.
inline constexpr const char* kTokenizerHelp =
    "words, characters, wordpiece, or a file or folder of a tokenizer";

/// A tokenizer of that kind (text::tokenizer_kinds), learned from `texts`, or the one in a file or
/// folder, which must have the special tokens for training. If options.max_size is 0, learned
/// subwords are limited to kSubwords, because otherwise they would be whole words.
/// **Errors**: as make_tokenizer and load_tokenizer; neither.
std::unique_ptr<text::Tokenizer> named_tokenizer(const std::string& name,
                                                 std::span<const std::string> texts,
                                                 text::VocabularyOptions options);

inline constexpr index_t kSubwords = 8000;

/// Whether the tokens of a tokenizer of that name are words or characters, not parts of words.
bool has_whole_units(const std::string& name);

}  // namespace tessera::examples
