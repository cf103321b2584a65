// Matrices as pictures: in the terminal and as SVG.
#pragma once

#include <string>
#include <vector>

#include "examples/course/matrix.h"

namespace tessera::examples {

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

/// The picture as SVG, for light and dark pages.
std::string svg_picture(const Picture& picture);

}  // namespace tessera::examples
