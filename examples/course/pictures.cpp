#include "examples/course/pictures.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>

#include <tessera/tensor/error.h>
#include <tessera/tensor/format.h>
#include <tessera/tensor/io/file.h>

namespace tessera::examples {

namespace {

constexpr const char* kStyle =
    "<style>\n"
    "svg{--ground:#fff;--ink:#1f2328;--line:#8c959f;--low:#b2182b;--high:#0860ca;--on:#fff}\n"
    "@media(prefers-color-scheme:dark){svg{--ground:#0d1117;--ink:#f0f6fc;--line:#656c76;"
    "--low:#ff7b72;--high:#6cb6ff;--on:#0d1117}}\n"
    "text{font:13px system-ui,sans-serif;fill:var(--ink);text-anchor:middle}.t{font-weight:600}"
    ".e{text-anchor:end}.i{text-anchor:start}.o{fill:var(--on)}\n"
    ".l{fill:var(--low)}.h{fill:var(--high)}.f{fill:none;stroke:var(--line)}\n"
    "</style>\n";

/// A text centred at x. Kinds: "t" bold, "i" begins at x, "e" ends at x, "o" is on a dark square.
std::string svg_text(double x, double y, const std::string& text, const std::string& kind = "") {
  return str_cat("<text class=\"", kind, "\" x=\"", x, "\" y=\"", y, "\">", text, "</text>\n");
}

/// The SVG with the elements `body`.
std::string svg_frame(const std::string& description, int width, int height,
                      const std::string& body) {
  return str_cat("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"", width,
                 "\" height=\"", height, "\" viewBox=\"0 0 ", width, " ", height, "\">\n<title>",
                 description, "</title>\n", kStyle,
                 "<rect width=\"100%\" height=\"100%\" style=\"fill:var(--ground)\"/>\n", body,
                 "</svg>\n");
}

}  // namespace

void write_picture(const std::filesystem::path& folder, const std::string& name,
                   const std::string& svg) {
  write_text(folder / name, svg);
  std::printf("wrote %s\n", (folder / name).c_str());
}

// ---- matrices ----

namespace {

constexpr int kLevels = 16;  // of colours for each sign
constexpr int kLetter = 7;   // the width of a letter, about
constexpr int kTop = 46;     // for a title and the name of an axis
constexpr int kGap = 26;     // between panels

/// 0 for low, `levels` for high.
int level_of(double value, double low, double high, int levels) {
  const double place = (value - low) / (high - low) * levels;
  return static_cast<int>(std::lround(std::clamp(place, 0.0, static_cast<double>(levels))));
}

/// From -kLevels through 0, which has no colour, to kLevels.
int colour_of(double value, const Picture& picture) {
  if (picture.low >= 0) return level_of(value, picture.low, picture.high, kLevels);
  const double size = std::max(-picture.low, picture.high);
  return level_of(value, -size, size, 2 * kLevels) - kLevels;
}

std::string fill_of(int colour) {
  return str_cat("class=\"", colour < 0 ? "l" : "h", "\" fill-opacity=\"",
                 std::abs(colour) / static_cast<double>(kLevels), "\"");
}

/// One path per colour, with neighbours in a row as one rectangle: a tenth of the size of a file
/// with separate squares.
std::string squares(const Matrix& m, const Picture& picture) {
  std::string text;
  for (int colour = -kLevels; colour <= kLevels; ++colour) {
    if (colour == 0) continue;
    std::string path;
    for (index_t i = 0; i < m.rows(); ++i) {
      for (index_t j = 0; j < m.columns(); ++j) {
        const index_t first = j;
        while (j < m.columns() && colour_of(m(i, j), picture) == colour) ++j;
        if (j > first) path += str_cat("M", first, " ", i, "h", j - first, "v1H", first, "z");
      }
    }
    if (!path.empty()) text += str_cat("<path ", fill_of(colour), " d=\"", path, "\"/>\n");
  }
  return str_cat("<g transform=\"scale(", picture.square, ")\" shape-rendering=\"crispEdges\">\n",
                 text, "</g>\n");
}

/// Lines between squares that are large enough, and their numbers.
std::string details(const Matrix& m, const Picture& picture) {
  const int side = picture.square;
  std::string path = str_cat("M0 0h", m.columns() * side, "v", m.rows() * side, "H0z");
  for (index_t i = 1; side >= 10 && i < m.rows(); ++i) {
    path += str_cat("M0 ", i * side, "h", m.columns() * side);
  }
  for (index_t j = 1; side >= 10 && j < m.columns(); ++j) {
    path += str_cat("M", j * side, " 0v", m.rows() * side);
  }
  std::string text = str_cat("<path class=\"f\" stroke-width=\".6\" d=\"", path, "\"/>\n");
  for (index_t i = 0; picture.digits >= 0 && i < m.rows(); ++i) {
    for (index_t j = 0; j < m.columns(); ++j) {
      text += svg_text((static_cast<double>(j) + 0.5) * side,
                       (static_cast<double>(i) + 0.5) * side + 4, decimals(m(i, j), picture.digits),
                       std::abs(colour_of(m(i, j), picture)) > kLevels / 2 ? "o" : "");
    }
  }
  return text;
}

/// The space that names of rows and columns need outside a panel.
int reach(const std::vector<std::string>& names) {
  std::size_t longest = 0;
  for (const std::string& name : names) longest = std::max(longest, name.size());
  return names.empty() ? 0 : static_cast<int>(longest) * kLetter + 6;
}

/// A panel whose first square has its upper left corner at (left, top).
std::string drawn(const Panel& panel, const Picture& picture, int left, int top) {
  const int side = picture.square;
  const double width = static_cast<double>(panel.values.columns() * side);
  const double height = static_cast<double>(panel.values.rows() * side);
  const int out = reach(panel.rows);
  std::string text = str_cat("<g transform=\"translate(", left, " ", top, ")\">\n");
  text += svg_text(width / 2, 26 - top, panel.title, "t");
  text += svg_text(width / 2, -6 - (panel.columns.empty() ? 0 : 16), panel.across + " &#8594;");
  text += str_cat("<text transform=\"translate(", -8 - out, " ", height / 2,
                  ") rotate(-90)\">&#8592; ", panel.down, "</text>\n");
  for (std::size_t j = 0; j < panel.columns.size(); ++j) {
    text += svg_text((static_cast<double>(j) + 0.5) * side, -6, panel.columns[j]);
  }
  for (std::size_t i = 0; i < panel.rows.size(); ++i) {
    text += svg_text(-6, (static_cast<double>(i) + 0.5) * side + 4, panel.rows[i], "e");
  }
  return text + squares(panel.values, picture) + details(panel.values, picture) + "</g>\n";
}

/// The scale of colours, with the numbers at its ends.
std::string legend(const Picture& picture, int left, int top) {
  constexpr int kSteps = 9;
  std::string text = str_cat("<g transform=\"translate(", left, " ", top, ")\">\n");
  const std::string low = str_cat(picture.low), high = str_cat(picture.high);
  const int begin = static_cast<int>(low.size()) * kLetter + 6;
  for (int i = 0; i < kSteps; ++i) {
    const double value = picture.low + (picture.high - picture.low) * i / (kSteps - 1);
    text += str_cat("<rect ", fill_of(colour_of(value, picture)), " x=\"", begin + 14 * i,
                    "\" width=\"14\" height=\"12\"/>\n");
  }
  text += str_cat("<path class=\"f\" d=\"M", begin, " 0h", 14 * kSteps, "v12H", begin, "z\"/>\n");
  return text + svg_text(begin - 6, 11, low, "e") +
         svg_text(begin + 14 * kSteps + 6, 11, high, "i") + "</g>\n";
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

void write_picture(const std::filesystem::path& folder, const std::string& name,
                   const Picture& picture) {
  int top = kTop;
  for (const Panel& panel : picture.panels) {
    if (!panel.columns.empty()) top = kTop + 16;
  }
  std::string body;
  int right = 0, bottom = 0;
  for (const Panel& panel : picture.panels) {
    const int side = picture.square;
    const int width = static_cast<int>(panel.values.columns()) * side;
    const int room = std::max(width, static_cast<int>(panel.title.size()) * kLetter);
    const int left = right + kGap + reach(panel.rows) + (room - width) / 2;
    body += drawn(panel, picture, left, top);
    right = left + (room + width) / 2;
    bottom = std::max(bottom, top + static_cast<int>(panel.values.rows()) * side);
  }
  body += legend(picture, kGap, bottom + 14);
  const int width = std::max(right, 220) + kGap / 2, height = bottom + 36;
  write_picture(folder, name, svg_frame(picture.description, width, height, body));
}

// ---- rows of words ----

namespace {

constexpr int kBox = 24;     // height of a box
constexpr int kLeft = 130;   // of the boxes
constexpr int kSeldom = 10;  // percent; smaller numbers are not written

/// Draws the boxes of a row; returns their right end.
int draw_boxes(const WordRow& row, int top, std::string& svg) {
  int left = kLeft;
  for (std::size_t i = 0; i < row.words.size(); ++i) {
    const int width = kLetter * std::max(static_cast<int>(row.words[i].size()), 2) + 8;
    const auto percent = static_cast<int>(std::lround(row.weights[i] * 100));
    svg += str_cat(
        "<rect class=\"h\" x=\"", left, "\" y=\"", top, "\" width=\"", width, "\" height=\"", kBox,
        "\" fill-opacity=\"", percent, "%\"/>\n<text x=\"", left + width / 2, "\" y=\"", top + 17,
        "\"", percent > 50 ? " style=\"fill:var(--ground)\"" : "", ">", row.words[i], "</text>\n");
    if (percent >= kSeldom) {
      svg += str_cat("<text x=\"", left + width / 2, "\" y=\"", top + kBox + 14, "\">", percent,
                     "%</text>\n");
    }
    left += width + 3;
  }
  return left;
}

}  // namespace

std::string svg_word_rows(const std::string& description, const std::vector<WordRow>& rows) {
  std::string body;
  int top = 12;
  int right = 0;
  for (const WordRow& row : rows) {
    body += str_cat("<text class=\"t\" x=\"", kLeft / 2, "\" y=\"", top + 17, "\">", row.title,
                    "</text>\n");
    right = std::max(right, draw_boxes(row, top, body));
    top += kBox + 24;
  }
  return svg_frame(description, right + 12, top, body);
}

}  // namespace tessera::examples
