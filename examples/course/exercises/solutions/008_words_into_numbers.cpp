// One solution of each exercise of 008.
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

std::vector<std::string> word_pieces(const std::string& word,
                                     const std::vector<std::string>& vocabulary) {
  std::vector<std::string> pieces;
  std::string rest = word;
  while (!rest.empty()) {
    std::string piece = pieces.empty() ? rest : "##" + rest;
    std::size_t size = rest.size();
    while (size > 0 && std::find(vocabulary.begin(), vocabulary.end(), piece) == vocabulary.end()) {
      piece.pop_back();
      --size;
    }
    if (size == 0) return {"[UNK]"};
    pieces.push_back(piece);
    rest = rest.substr(size);
  }
  return pieces;
}

Matrix mean_of_tokens(const Matrix& x, index_t tokens, const std::vector<index_t>& lengths) {
  Matrix means(std::ssize(lengths), x.columns());
  for (index_t b = 0; b < means.rows(); ++b) {
    const index_t length = lengths[static_cast<std::size_t>(b)];
    for (index_t c = 0; c < x.columns(); ++c) {
      double sum = 0;
      for (index_t t = 0; t < length; ++t) sum += x(b * tokens + t, c);
      means(b, c) = sum / static_cast<double>(length);
    }
  }
  return means;
}

// The query's length is the same for all rows, so the division by it is omitted.
index_t nearest(const Matrix& query, const Matrix& rows) {
  index_t best = 0;
  double largest = -INFINITY;
  for (index_t i = 0; i < rows.rows(); ++i) {
    double product = 0;
    double squares = 0;
    for (index_t c = 0; c < rows.columns(); ++c) {
      product += query(0, c) * rows(i, c);
      squares += rows(i, c) * rows(i, c);
    }
    const double cosine = product / std::sqrt(squares);
    if (cosine > largest) {
      largest = cosine;
      best = i;
    }
  }
  return best;
}

}  // namespace tessera::exercises
