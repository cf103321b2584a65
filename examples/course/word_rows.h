// Words shaded by weights, as pictures.
#pragma once

#include <string>
#include <vector>

namespace tessera::examples {

/// A line of words, each in a box with a colour that is stronger for a larger weight, from 0 to 1.
struct WordRow {
  std::string title;
  std::vector<std::string> words;
  std::vector<double> weights;
};

/// The rows, one below the other, as SVG for light and dark pages; `description` is for readers who
/// cannot see the picture.
std::string svg_word_rows(const std::string& description, const std::vector<WordRow>& rows);

}  // namespace tessera::examples
