#include "tessera/models/pages/attention_page.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

#include "tessera/models/pages/detail/attention_labels.h"
#include "tessera/models/pages/detail/numbers.h"
#include "tessera/models/pages/page.h"
#include "tessera/tensor/error.h"

namespace tessera::pages {

namespace {

constexpr std::size_t kLongestLabel = 16;  // in code points

/// A map as numbers, row by row, and its tokens as they are shown.
struct Map {
  std::size_t size;
  std::vector<double> weights;
  std::vector<std::string> tokens;

  double at(std::size_t i, std::size_t j) const { return weights[i * size + j]; }
  std::size_t longest_label() const {
    std::size_t longest = 0;
    for (const std::string& token : tokens) longest = std::max(longest, code_points(token));
    return longest;
  }
};

Map map_of(const char* op, const Tensor& weights, std::span<const std::string> tokens,
           std::size_t longest_label) {
  const auto size = static_cast<index_t>(tokens.size());
  require(
      weights.defined() && is_floating(weights.dtype()) && weights.shape() == Shape({size, size}),
      op, "weights must be floating and of shape ", Shape({size, size}), " for ", size,
      " tokens, got ",
      weights.defined() ? str_cat(weights.dtype(), " of ", weights.shape()) : "none");
  Map map = {.size = tokens.size(), .weights = {}, .tokens = {}};
  map.weights = weights.to(kFloat64).contiguous().to_vector<double>();
  for (const std::string& token : tokens) {
    map.tokens.push_back(shortened(shown_token(token), longest_label));
  }
  return map;
}

/// Text for screen readers: what each token attends to most.
std::string strongest(const Map& map) {
  std::string text;
  for (std::size_t i = 0; i < map.size; ++i) {
    std::size_t best = 0;
    for (std::size_t j = 1; j < map.size; ++j) {
      if (map.at(i, j) > map.at(i, best)) best = j;
    }
    text += str_cat(i == 0 ? "" : ", ", map.tokens[i], " at ", map.tokens[best], " (",
                    decimals(100 * map.at(i, best), 0), " %)");
  }
  return text;
}

// ---- the picture ----

constexpr int kCell = 18;  // of the picture, in its units
constexpr int kFont = 12;

struct Geometry {
  int left, top, width, height;  // of the squares' corner, and of all
};

Geometry geometry_of(const Map& map, const std::string& title) {
  const int label = 14 + static_cast<int>(map.longest_label()) * 8;
  const int side = static_cast<int>(map.size) * kCell;
  const int caption = 16 + static_cast<int>(code_points(title)) * 8;
  return {label, 30 + label, std::max(label + side + 10, caption), 30 + label + side + 10};
}

std::string labels(const Map& map, const Geometry& at) {
  std::string svg;
  for (std::size_t i = 0; i < map.size; ++i) {
    const int middle = static_cast<int>(i) * kCell + kCell / 2;
    const std::string token = escape(map.tokens[i]);
    svg += str_cat("<text x=\"", at.left - 6, "\" y=\"", at.top + middle + 4,
                   "\" text-anchor=\"end\">", token, "</text>\n");
    svg += str_cat("<text transform=\"translate(", at.left + middle + 4, ' ', at.top - 6,
                   ") rotate(-90)\">", token, "</text>\n");
  }
  return svg;
}

std::string squares(const Map& map, const Geometry& at) {
  std::string svg;
  for (std::size_t i = 0; i < map.size; ++i) {
    for (std::size_t j = 0; j < map.size; ++j) {
      const double weight = map.at(i, j);
      const double shade = std::isnan(weight) ? 1 : std::sqrt(std::clamp(weight, 0.0, 1.0));
      svg +=
          str_cat("<rect x=\"", at.left + static_cast<int>(j) * kCell, "\" y=\"",
                  at.top + static_cast<int>(i) * kCell, "\" width=\"", kCell, "\" height=\"", kCell,
                  "\" fill-opacity=\"", decimals(shade, 3), "\"><title>", escape(map.tokens[i]),
                  " → ", escape(map.tokens[j]), ": ", decimals(weight, 4), "</title></rect>\n");
    }
  }
  return svg;
}

constexpr const char* kStyle =
    "<style>\n"
    "svg { background: #ffffff; }\n"
    "text { fill: #1b1f24; } rect { fill: #0b3d75; } .frame { fill: none; stroke: #9aa5b1; }\n"
    "@media screen and (prefers-color-scheme: dark) {\n"
    "  svg { background: #0f1318; }\n"
    "  text { fill: #e6eaef; } rect { fill: #8fd0ff; } .frame { fill: none; stroke: #57606a; }\n"
    "}\n"
    "</style>\n";

}  // namespace

std::string attention_svg(const Tensor& weights, std::span<const std::string> tokens,
                          const std::string& title) {
  const Map map = map_of("attention_svg", weights, tokens, kLongestLabel);
  const Geometry at = geometry_of(map, title);
  const int side = static_cast<int>(map.size) * kCell;
  return str_cat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 ", at.width, ' ', at.height,
      "\" width=\"", at.width, "\" height=\"", at.height,
      "\" role=\"img\" aria-labelledby=\"title desc\" font-family=\"monospace\" font-size=\"",
      kFont, "\">\n<title id=\"title\">", escape(title), "</title>\n<desc id=\"desc\">",
      escape("Rows attend to columns. Most of all: " + strongest(map)), "</desc>\n", kStyle,
      "<text x=\"8\" y=\"20\" font-size=\"14\">", escape(title), "</text>\n", labels(map, at),
      squares(map, at), "<rect class=\"frame\" x=\"", at.left, "\" y=\"", at.top, "\" width=\"",
      side, "\" height=\"", side, "\"/>\n</svg>\n");
}

// ---- the terminal ----

namespace {

/// `text` behind so many spaces that it is `width` code points wide.
std::string right_aligned(const std::string& text, std::size_t width) {
  const std::size_t size = code_points(text);
  return std::string(width - std::min(width, size), ' ') + text;
}

}  // namespace

std::string attention_text(const Tensor& weights, std::span<const std::string> tokens) {
  constexpr std::array kShades = {" ", "░", "▒", "▓", "█"};
  constexpr std::size_t kColumn = 6;  // a space, two of shade, three of number
  const Map map = map_of("attention_text", weights, tokens, kLongestLabel);
  const std::size_t label = std::min(map.longest_label(), kLongestLabel);
  std::string text(label + 3, ' ');
  for (const std::string& token : map.tokens) {
    text += right_aligned(shortened(token, kColumn - 1), kColumn);
  }
  text += '\n';
  for (std::size_t i = 0; i < map.size; ++i) {
    text += "  " + right_aligned(map.tokens[i], label) + ' ';
    for (std::size_t j = 0; j < map.size; ++j) {
      const double weight = map.at(i, j);
      const double step = std::isnan(weight) ? 0 : std::clamp(5 * weight, 0.0, 4.0);
      const std::string shade = kShades[static_cast<std::size_t>(step)];
      text += ' ' + shade + shade + right_aligned(decimals(100 * weight, 0), 3);
    }
    text += '\n';
  }
  return text;
}

}  // namespace tessera::pages
