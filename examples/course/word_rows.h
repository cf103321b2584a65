// Words shaded by weights, as .svg files.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::examples {

/// A line of words, each in a box that is the darker the larger its weight, from 0 to 1.
struct WordRow {
  std::string title;
  std::vector<std::string> words;
  std::vector<double> weights;
};

/// Writes the rows, one below the other, to folder/name, and says so on standard output;
/// `description` is for those who cannot see them. **Errors**: as write_file.
void write_word_rows(const std::filesystem::path& folder, const std::string& name,
                     const std::string& description, const std::vector<WordRow>& rows);

}  // namespace tessera::examples
