// Schematic pictures for lessons, readable on light and dark pages.
#pragma once

#include <filesystem>
#include <string>

namespace tessera::examples {

/// A picture made of boxes and texts. Kinds of boxes: "a" orange, "b" blue, "c" green, "d" violet,
/// "f" no colour. Kinds of texts: those of svg_text, and "s" small.
class Drawing {
 public:
  /// `title` is for readers who cannot see the picture; sizes are in pixels.
  Drawing(std::string title, int width, int height);

  void box(double x, double y, double width, double height, const std::string& kind = "f");
  void text(double x, double y, const std::string& text, const std::string& kind = "");
  void arrow(double x, double y, double to_x, double to_y);

  /// Writes the picture to folder/name, and prints the path. **Errors**: as write_text.
  void write(const std::filesystem::path& folder, const std::string& name) const;

 private:
  std::string title_;
  int width_, height_;
  std::string body_;
};

}  // namespace tessera::examples
