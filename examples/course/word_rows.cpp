#include "examples/course/word_rows.h"

#include <algorithm>
#include <cmath>
#include <cstdio>

#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::examples {

namespace {

constexpr index_t kBox = 24;    // height of a box
constexpr index_t kLetter = 7;  // width of a letter, about
constexpr index_t kHundredths = 100;

index_t width_of(const std::string& word) {
  return kLetter * std::max<index_t>(std::ssize(word), 2) + 8;
}

/// The boxes of a row from `left` on; returns where they end.
index_t draw_boxes(const WordRow& row, index_t left, index_t top, std::string& svg) {
  for (std::size_t i = 0; i < row.words.size(); ++i) {
    const index_t width = width_of(row.words[i]);
    const auto percent = static_cast<index_t>(std::lround(row.weights[i] * kHundredths));
    svg += str_cat("<rect x=\"", left, "\" y=\"", top, "\" width=\"", width, "\" height=\"", kBox,
                   "\" fill=\"#2166ac\" fill-opacity=\"", percent, "%\"/>\n<text x=\"",
                   left + width / 2, "\" y=\"", top + 17, "\" text-anchor=\"middle\"",
                   percent > 50 ? " fill=\"#fff\"" : "", ">", row.words[i], "</text>\n");
    if (percent >= 10) {
      svg += str_cat("<text x=\"", left + width / 2, "\" y=\"", top + kBox + 12,
                     "\" text-anchor=\"middle\" font-size=\"11\">", percent, "%</text>\n");
    }
    left += width + 3;
  }
  return left;
}

}  // namespace

void write_word_rows(const std::filesystem::path& folder, const std::string& name,
                     const std::string& description, const std::vector<WordRow>& rows) {
  constexpr index_t kLeft = 130;
  std::string body;
  index_t top = 12;
  index_t right = 0;
  for (const WordRow& row : rows) {
    body += str_cat("<text x=\"12\" y=\"", top + 17, "\" font-weight=\"bold\">", row.title,
                    "</text>\n");
    right = std::max(right, draw_boxes(row, kLeft, top, body));
    top += kBox + 24;
  }
  const index_t width = right + 12;
  write_text(
      folder / name,
      str_cat("<svg xmlns=\"http://www.w3.org/2000/svg\" role=\"img\" width=\"", width,
              "\" height=\"", top, "\" viewBox=\"0 0 ", width, " ", top, "\">\n<title>",
              description, "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
              "<g font-family=\"sans-serif\" font-size=\"13\" fill=\"#222\">\n", body,
              "</g>\n</svg>\n"));
  std::printf("wrote %s\n", (folder / name).c_str());
}

}  // namespace tessera::examples
