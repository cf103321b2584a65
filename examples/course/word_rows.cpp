#include "examples/course/word_rows.h"

#include <algorithm>
#include <cmath>

#include "examples/course/svg.h"
#include "tensor/error.h"

namespace tessera::examples {

namespace {

constexpr int kBox = 24;         // height of a box
constexpr int kLetterWidth = 7;  // width of a letter, about
constexpr int kLeft = 130;       // of the boxes
constexpr int kSeldom = 10;      // percent; smaller numbers are not written

/// Draws the boxes of a row; returns their right end.
int draw_boxes(const WordRow& row, int top, std::string& svg) {
  int left = kLeft;
  for (std::size_t i = 0; i < row.words.size(); ++i) {
    const int width = kLetterWidth * std::max(static_cast<int>(row.words[i].size()), 2) + 8;
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
