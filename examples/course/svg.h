// The common parts of all pictures of lessons: colours for light and dark pages, and files.
#pragma once

#include <filesystem>
#include <string>

namespace tessera::examples {

/// The SVG with the elements `body`. `description` is for readers who cannot see the picture.
/// Styles: the colours --ground, --ink, --line, --low and --high; shapes of class "l" are filled
/// with --low, "h" with --high, "f" are not filled.
std::string svg_frame(const std::string& description, int width, int height,
                      const std::string& body);

/// A text centred at x. Kinds: "t" bold, "i" begins at x, "e" ends at x, "o" is on a dark square;
/// kinds can be combined: "t i".
std::string svg_text(double x, double y, const std::string& text, const std::string& kind = "");

/// Writes a text file to folder/name, and prints the path. **Errors**: as write_text.
void write_picture(const std::filesystem::path& folder, const std::string& name,
                   const std::string& svg);

}  // namespace tessera::examples
