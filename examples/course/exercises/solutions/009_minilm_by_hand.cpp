// One solution of each exercise of 009.
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

struct BertSizes {
  index_t words, positions, types, width, hidden, layers;
};

Matrix embedded(const std::vector<index_t>& ids, const Matrix& words, const Matrix& positions,
                const Matrix& types) {
  Matrix x(std::ssize(ids), words.columns());
  for (index_t i = 0; i < x.rows(); ++i) {
    const index_t id = ids[static_cast<std::size_t>(i)];
    for (index_t c = 0; c < x.columns(); ++c) {
      x(i, c) = words(id, c) + positions(i, c) + types(0, c);
    }
  }
  return x;
}

Matrix heads_of(const Matrix& q, const Matrix& k, const Matrix& v, index_t heads) {
  const index_t d = q.columns() / heads;
  Matrix y(q.rows(), q.columns());
  for (index_t h = 0; h < heads; ++h) {
    for (index_t i = 0; i < q.rows(); ++i) {
      double sum = 0;
      for (index_t j = 0; j < k.rows(); ++j) {
        double score = 0;
        for (index_t c = h * d; c < (h + 1) * d; ++c) score += q(i, c) * k(j, c);
        const double part = std::exp(score / std::sqrt(static_cast<double>(d)));
        sum += part;
        for (index_t c = h * d; c < (h + 1) * d; ++c) y(i, c) += part * v(j, c);
      }
      for (index_t c = h * d; c < (h + 1) * d; ++c) y(i, c) /= sum;
    }
  }
  return y;
}

index_t parameters_of_bert(const BertSizes& sizes) {
  const index_t d = sizes.width;
  const index_t norm = 2 * d;
  const index_t attention = 4 * (d * d + d);
  const index_t feed_forward = 2 * d * sizes.hidden + sizes.hidden + d;
  return (sizes.words + sizes.positions + sizes.types) * d + norm +
         sizes.layers * (attention + feed_forward + 2 * norm);
}

}  // namespace tessera::exercises
