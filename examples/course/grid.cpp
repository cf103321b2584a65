#include "examples/course/grid.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <span>

#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::examples {

namespace {

constexpr int kLevels = 16;  // of colours above the first
constexpr int kMargin = 22;  // for titles and names of axes

using Colour = std::array<double, 3>;
constexpr Colour kBlue = {33, 102, 172};
constexpr Colour kWhite = {247, 247, 247};
constexpr Colour kRed = {178, 24, 43};

/// 0 for low, `levels` for high.
int level_of(double value, double low, double high, int levels) {
  const double place = (value - low) / (high - low) * levels;
  return static_cast<int>(std::lround(std::clamp(place, 0.0, static_cast<double>(levels))));
}

std::string colour_of(int level, bool diverging) {
  const double t = static_cast<double>(level) / kLevels;
  const Colour& from = !diverging ? kWhite : t < 0.5 ? kBlue : kWhite;
  const Colour& to = !diverging ? kBlue : t < 0.5 ? kWhite : kRed;
  const double part = !diverging ? t : t < 0.5 ? 2 * t : 2 * t - 1;
  std::array<int, 3> rgb;
  for (std::size_t i = 0; i < 3; ++i) {
    rgb[i] = static_cast<int>(std::lround(from[i] + (to[i] - from[i]) * part));
  }
  std::array<char, 8> text;
  std::snprintf(text.data(), text.size(), "#%02x%02x%02x", static_cast<unsigned>(rgb[0]) & 0xffu,
                static_cast<unsigned>(rgb[1]) & 0xffu, static_cast<unsigned>(rgb[2]) & 0xffu);
  return text.data();
}

/// One path a colour, neighbours in a row as one rectangle: a tenth of a file with a square each.
std::string squares(const Panel& panel) {
  std::array<std::string, kLevels + 1> paths;
  const Matrix& m = panel.values;
  for (index_t i = 0; i < m.rows(); ++i) {
    for (index_t j = 0; j < m.columns();) {
      const int level = level_of(m(i, j), panel.low, panel.high, kLevels);
      const index_t first = j;
      while (j < m.columns() && level_of(m(i, j), panel.low, panel.high, kLevels) == level) ++j;
      paths[static_cast<std::size_t>(level)] +=
          str_cat("M", first, " ", i, "h", j - first, "v1H", first, "z");
    }
  }
  std::string text;
  for (int level = 0; level <= kLevels; ++level) {
    const std::string& path = paths[static_cast<std::size_t>(level)];
    if (path.empty()) continue;
    text += str_cat("<path fill=\"", colour_of(level, panel.low < 0), "\" d=\"", path, "\"/>\n");
  }
  return text;
}

/// Thin lines between squares that are large enough.
std::string lines(const Panel& panel) {
  if (panel.square < 10) return {};
  std::string path;
  for (index_t i = 1; i < panel.values.rows(); ++i) {
    path += str_cat("M0 ", i, "h", panel.values.columns());
  }
  for (index_t j = 1; j < panel.values.columns(); ++j) {
    path += str_cat("M", j, " 0v", panel.values.rows());
  }
  return str_cat("<path d=\"", path, "\" stroke=\"#999\" stroke-width=\"0.05\"/>\n");
}

std::string drawn(const Panel& panel, index_t left) {
  const index_t width = panel.values.columns() * panel.square;
  const index_t height = panel.values.rows() * panel.square;
  return str_cat("<g transform=\"translate(", left, " ", 2 * kMargin, ")\">\n", "<text x=\"",
                 width / 2, "\" y=\"", -kMargin - 4, "\" font-weight=\"bold\">", panel.title,
                 "</text>\n", "<text x=\"", width / 2, "\" y=\"-6\">", panel.across,
                 " &#8594;</text>\n", "<text transform=\"translate(-8 ", height / 2,
                 ") rotate(-90)\">&#8592; ", panel.down, "</text>\n", "<g transform=\"scale(",
                 panel.square, ")\" shape-rendering=\"crispEdges\">\n", squares(panel),
                 lines(panel), "</g>\n", "<path d=\"M0 0h", width, "v", height,
                 "H0z\" fill=\"none\" stroke=\"#555\"/>\n", "</g>\n");
}

}  // namespace

std::string terminal_picture(const Matrix& m, double low, double high) {
  constexpr std::array<char, 5> kShades = {' ', '.', ':', '+', '@'};
  std::string text;
  for (index_t i = 0; i < m.rows(); ++i) {
    for (index_t j = 0; j < m.columns(); ++j) {
      text += kShades[static_cast<std::size_t>(level_of(m(i, j), low, high, 4))];
    }
    text += '\n';
  }
  return text;
}

std::string svg_picture(const std::string& description, const std::vector<Panel>& panels) {
  std::string body;
  index_t left = kMargin + 8;
  index_t height = 0;
  for (const Panel& panel : panels) {
    body += drawn(panel, left);
    left += std::max<index_t>(panel.values.columns() * panel.square, 120) + 2 * kMargin;
    height = std::max(height, panel.values.rows() * panel.square);
  }
  const index_t width = left - kMargin;
  height += 2 * kMargin + 10;
  return str_cat("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"", width,
                 "\" height=\"", height, "\" viewBox=\"0 0 ", width, " ", height, "\">\n<title>",
                 description, "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
                 "<g font-family=\"sans-serif\" font-size=\"13\" text-anchor=\"middle\" "
                 "fill=\"#222\">\n",
                 body, "</g>\n</svg>\n");
}

void write_picture(const std::filesystem::path& folder, const std::string& name,
                   const std::string& description, const std::vector<Panel>& panels) {
  const std::string text = svg_picture(description, panels);
  write_text(folder / name, text);
  std::printf("wrote %s\n", (folder / name).c_str());
}

}  // namespace tessera::examples
