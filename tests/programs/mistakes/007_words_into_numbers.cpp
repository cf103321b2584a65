// Mistakes that can be planted, and how the hint begins that each must get.
//
// no_mark: a token that continues a word begins with
// shortest: the longest token wins
// part_unknown: the whole word is unknown
// all_tokens: divide by lengths[b]
// packed: row t of text b is row b * tokens + t
// product: divide the product by the row's length
// from_zero: start with a cosine that any row exceeds
#include "examples/course/exercises/007_words_into_numbers.h"

#include <algorithm>
#include <cmath>

#include "tests/programs/mistakes/planted.h"

namespace tessera::exercises {

std::vector<std::string> word_pieces(const std::string& word,
                                     const std::vector<std::string>& vocabulary) {
  const auto has = [&](const std::string& piece) {
    return std::find(vocabulary.begin(), vocabulary.end(), piece) != vocabulary.end();
  };
  std::vector<std::string> pieces;
  for (std::size_t begin = 0; begin < word.size();) {
    const std::string before = begin > 0 && !planted("no_mark") ? "##" : "";
    const std::size_t left = word.size() - begin;
    std::size_t size = planted("shortest") ? 1 : left;
    const auto fits = [&] { return has(before + word.substr(begin, size)); };
    while (size > 0 && size <= left && !fits()) size = planted("shortest") ? size + 1 : size - 1;
    if (size == 0 || size > left) {
      if (!planted("part_unknown")) return {"[UNK]"};
      pieces.emplace_back("[UNK]");
      return pieces;
    }
    pieces.push_back(before + word.substr(begin, size));
    begin += size;
  }
  return pieces;
}

Matrix mean_of_tokens(const Matrix& x, index_t tokens, const std::vector<index_t>& lengths) {
  Matrix means(std::ssize(lengths), x.columns());
  index_t packed = 0;  // the row of a text if nothing were padded
  for (index_t b = 0; b < means.rows(); ++b) {
    const index_t length = lengths[static_cast<std::size_t>(b)];
    const index_t first = planted("packed") ? packed : b * tokens;
    for (index_t t = 0; t < length; ++t) {
      for (index_t c = 0; c < x.columns(); ++c) {
        means(b, c) +=
            x(first + t, c) / static_cast<double>(planted("all_tokens") ? tokens : length);
      }
    }
    packed += length;
  }
  return means;
}

index_t nearest(const Matrix& query, const Matrix& rows) {
  index_t best = 0;
  double largest = planted("from_zero") ? 0 : -INFINITY;
  for (index_t i = 0; i < rows.rows(); ++i) {
    double product = 0;
    double squares = 0;
    for (index_t c = 0; c < rows.columns(); ++c) {
      product += query(0, c) * rows(i, c);
      squares += rows(i, c) * rows(i, c);
    }
    const double cosine = planted("product") ? product : product / std::sqrt(squares);
    if (cosine > largest) {
      largest = cosine;
      best = i;
    }
  }
  return best;
}

}  // namespace tessera::exercises
