// Lines of text with labels, as a classifier learns them.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "models/text/batches.h"
#include "models/text/labelled_text.h"
#include "models/text/tokenizer.h"
#include "nn/training/checkpoint.h"

namespace tessera::examples {

/// The vocabulary and the labels of a model: the names of its words and classes.
struct Names {
  std::unique_ptr<text::Tokenizer> words;
  std::vector<std::string> labels;
};

/// The notes of a checkpoint from which names_from makes the names again.
nn::Checkpoint notes_of(const Names& names);
/// **Errors**: std::runtime_error with the checkpoint's file: it has no names.
Names names_from(const nn::Checkpoint& checkpoint);

/// The numbers of a text's words, after [CLS].
std::vector<index_t> encode(const text::Tokenizer& words, const std::string& text,
                            index_t max_words);

/// The examples of a file's lines. **Errors**: std::runtime_error with the file's line: a label
/// without a name.
std::vector<text::Example> examples_of(const std::vector<text::LabelledText>& lines,
                                       const std::string& file, const Names& names,
                                       index_t max_words);

}  // namespace tessera::examples
