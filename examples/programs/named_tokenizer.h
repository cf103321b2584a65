// The tokenizer that an option names.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "models/text/tokenizer.h"

namespace tessera::examples {

/// How a program's help describes such an option.
inline constexpr const char* kTokenizerHelp =
    "words, characters, wordpiece, bpe, or a file or folder of a tokenizer";

/// A tokenizer of that kind (text::tokenizer_kinds), learned from `texts`, or the one in a file or
/// folder, which has to have the special tokens that models learn with. Learned subwords end at
/// kSubwords if options.max_size is 0: otherwise they would be words.
/// **Errors**: as make_tokenizer and load_tokenizer; neither.
std::unique_ptr<text::Tokenizer> named_tokenizer(const std::string& name,
                                                 std::span<const std::string> texts,
                                                 text::VocabularyOptions options);

inline constexpr index_t kSubwords = 8000;

/// Whether a tokenizer of that name has words or characters as tokens, not parts of words.
bool has_whole_units(const std::string& name);

}  // namespace tessera::examples
