// Matrices as pictures: in the terminal, and as .svg files.
#pragma once

#include <filesystem>
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
  std::string across = "key";  // what the columns are
  std::string down = "query";  // what the rows are
  double low = -1;             // blue; 0 is white where low is below it
  double high = 1;             // red; blue where low is 0
  int square = 6;              // in pixels
};

/// The panels side by side; `description` is for those who cannot see them.
std::string svg_picture(const std::string& description, const std::vector<Panel>& panels);

/// Writes the picture to folder/name, and says so on standard output. **Errors**: as write_file.
void write_picture(const std::filesystem::path& folder, const std::string& name,
                   const std::string& description, const std::vector<Panel>& panels);

}  // namespace tessera::examples
