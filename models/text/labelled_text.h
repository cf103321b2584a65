// Lines of text with a label, from files, and labels as numbers.
//
//   DESC<tab>How did serfdom develop in and then leave Russia ?
//
// **Errors** throughout: std::runtime_error with the file's name, the line and the byte in it, both
// counted from 1; those of read_text.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tensor/kernels/types.h"

namespace tessera::text {

struct LabelledText {
  std::string label;
  std::string text;
};

/// One example a line: a label, a tab, the text. Further tabs belong to the text. Entry i comes from
/// line i + 1. Errors: a line without a tab, label or text.
std::vector<LabelledText> read_labelled_lines(const std::filesystem::path& path);

/// The different labels of `examples`, sorted by their bytes: a label's place is its number.
std::vector<std::string> distinct_labels(const std::vector<LabelledText>& examples);

/// The number of each example's label. Errors: a label that is not among `labels`; `file` is the
/// name of the file that the examples came from.
std::vector<index_t> label_numbers(const std::vector<LabelledText>& examples,
                                   const std::vector<std::string>& labels, const std::string& file);

}  // namespace tessera::text
