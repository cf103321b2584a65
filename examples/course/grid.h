// Matrices as pictures: in the terminal and as SVG.
#pragma once

#include <string>
#include <vector>

#include "examples/course/matrix.h"

namespace tessera::examples {

/// A character a number, from ' ' for `low` over '.', ':' and '+' to '@' for `high`; a line a row.
std::string terminal_picture(const Matrix& m, double low = -1, double high = 1);

/// One matrix of a picture, a coloured square a number.
struct Panel {
  std::string title;
  Matrix values;
  std::string across = "key";             // what the columns are
  std::string down = "query";             // what the rows are
  std::vector<std::string> columns = {};  // names of the columns, or nothing
  std::vector<std::string> rows = {};     // and of the rows
};

/// Panels next to each other with one scale of colours, which the picture shows below them.
/// `description` is for readers who cannot see it.
struct Picture {
  std::string description;
  std::vector<Panel> panels;
  double low = 0;   // red if negative: then 0 has no colour, else `low`
  double high = 1;  // blue
  int square = 22;  // of a number, in pixels
  int digits = -1;  // after the point, of the numbers in the squares; -1: no numbers
};

/// The picture as SVG, for light and dark pages.
std::string svg_picture(const Picture& picture);

}  // namespace tessera::examples
