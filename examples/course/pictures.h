// Pictures of lessons: SVG for light and dark pages, and matrices in the terminal.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

#include "examples/course/matrix.h"

namespace tessera::examples {

/// Writes a text file to folder/name, and prints the path. **Errors**: as write_text.
void write_picture(const std::filesystem::path& folder, const std::string& name,
                   const std::string& svg);

/// One character per number, from ' ' for `low` through '.', ':' and '+' to '@' for `high`; one
/// line per row.
std::string terminal_picture(const Matrix& m, double low = -1, double high = 1);

/// One matrix of a picture, one coloured square per number.
struct Panel {
  std::string title;
  Matrix values;
  std::string across = "key";             // the meaning of the columns
  std::string down = "query";             // the meaning of the rows
  std::vector<std::string> columns = {};  // names of the columns, may be empty
  std::vector<std::string> rows = {};     // names of the rows, may be empty
};

/// Panels next to each other with one scale of colours, which is drawn below them. `description` is
/// for readers who cannot see the picture.
struct Picture {
  std::string description;
  std::vector<Panel> panels;
  double low = 0;   // red if negative: then 0 has no colour, else `low`
  double high = 1;  // blue
  int square = 22;  // of a number, in pixels
  int digits = -1;  // after the point, of the numbers in the squares; -1: no numbers
};

/// Writes the picture as SVG, for light and dark pages. **Errors**: as write_text.
void write_picture(const std::filesystem::path& folder, const std::string& name,
                   const Picture& picture);

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
