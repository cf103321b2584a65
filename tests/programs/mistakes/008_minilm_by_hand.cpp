// Mistakes that can be planted, and how the hint begins that each must get.
//
// row: row i is row ids[i] of words
// id: the position is i
// no_type: row 0 of types is added
// undivided: scores are divided by sqrt(d)
// full_width: d is a head's width
// no_norm: the embeddings have a norm
// no_bias: each of attention's four products has a bias
#include "examples/course/exercises/008_minilm_by_hand.h"

#include <cmath>

#include "tests/programs/mistakes/planted.h"

namespace tessera::exercises {

Matrix embedded(const std::vector<index_t>& ids, const Matrix& words, const Matrix& positions,
                const Matrix& types) {
  Matrix x(std::ssize(ids), words.columns());
  for (index_t i = 0; i < x.rows(); ++i) {
    const index_t id = ids[static_cast<std::size_t>(i)];
    for (index_t c = 0; c < x.columns(); ++c) {
      x(i, c) = words(planted("row") ? i : id, c) + positions(planted("id") ? id : i, c) +
                (planted("no_type") ? 0 : types(0, c));
    }
  }
  return x;
}

Matrix heads_of(const Matrix& q, const Matrix& k, const Matrix& v, index_t heads) {
  const index_t d = q.columns() / heads;
  const index_t scaled_by = planted("undivided") ? 1 : planted("full_width") ? q.columns() : d;
  Matrix y(q.rows(), q.columns());
  for (index_t begin = 0; begin < q.columns(); begin += d) {
    for (index_t i = 0; i < q.rows(); ++i) {
      double sum = 0;
      for (index_t j = 0; j < k.rows(); ++j) {
        double score = 0;
        for (index_t c = begin; c < begin + d; ++c) score += q(i, c) * k(j, c);
        const double part = std::exp(score / std::sqrt(static_cast<double>(scaled_by)));
        sum += part;
        for (index_t c = begin; c < begin + d; ++c) y(i, c) += part * v(j, c);
      }
      for (index_t c = begin; c < begin + d; ++c) y(i, c) /= sum;
    }
  }
  return y;
}

index_t parameters_of_bert(const BertSizes& sizes) {
  const index_t d = sizes.width;
  const index_t first_norm = planted("no_norm") ? 0 : 2 * d;
  const index_t attention = 4 * (d * d + (planted("no_bias") ? 0 : d));
  const index_t feed_forward = 2 * d * sizes.hidden + sizes.hidden + d;
  return (sizes.words + sizes.positions + sizes.types) * d + first_norm +
         sizes.layers * (attention + feed_forward + 4 * d);
}

}  // namespace tessera::exercises
