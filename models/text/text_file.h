// Text from files: plain, by lines, and lines with a label.
//
//   DESC<tab>How did serfdom develop in and then leave Russia ?
//
// Files are UTF-8; a byte order mark in front is dropped, and lines may end with \r\n.
// **Errors** throughout: std::runtime_error with the file's name, the line and the byte in it, both
// counted from 1.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "tensor/kernels/types.h"

namespace tessera::text {

/// A whole file, line ends as \n. Errors: no such file, an empty one, bytes that are not UTF-8.
std::string read_text(const std::filesystem::path& path);

/// The lines of a file, without their ends. Errors: as read_text.
std::vector<std::string> read_lines(const std::filesystem::path& path);

struct LabelledText {
  std::string label;
  std::string text;
};

/// One example a line: a label, a tab, the text. Further tabs belong to the text. Entry i comes from
/// line i + 1. Errors: as read_text; a line without a tab, label or text.
std::vector<LabelledText> read_labelled_lines(const std::filesystem::path& path);

/// The different labels of `examples`, sorted by their bytes: a label's place is its number.
std::vector<std::string> distinct_labels(const std::vector<LabelledText>& examples);

/// The number of each example's label. Errors: a label that is not among `labels`; `file` is the
/// name of the file that the examples came from.
std::vector<index_t> label_numbers(const std::vector<LabelledText>& examples,
                                   const std::vector<std::string>& labels, const std::string& file);

}  // namespace tessera::text
