// One solution of each exercise of 010.
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

Matrix value_fractions(const Matrix& weights, const Matrix& values, const Matrix& w_o) {
  std::vector<double> lengths;  // |W_O v_j|
  for (index_t j = 0; j < values.rows(); ++j) {
    double squares = 0;
    for (index_t r = 0; r < w_o.rows(); ++r) {
      double y = 0;
      for (index_t c = 0; c < w_o.columns(); ++c) y += w_o(r, c) * values(j, c);
      squares += y * y;
    }
    lengths.push_back(std::sqrt(squares));
  }
  Matrix shares = weights;
  for (index_t i = 0; i < shares.rows(); ++i) {
    double sum = 0;
    for (index_t j = 0; j < shares.columns(); ++j) {
      shares(i, j) *= lengths[static_cast<std::size_t>(j)];
      sum += shares(i, j);
    }
    for (index_t j = 0; j < shares.columns(); ++j) shares(i, j) /= sum;
  }
  return shares;
}

Matrix part_of_head(const Matrix& heads, const Matrix& w_o, index_t head, index_t count) {
  const index_t d = heads.columns() / count;
  Matrix part(heads.rows(), w_o.rows());
  for (index_t i = 0; i < part.rows(); ++i) {
    for (index_t r = 0; r < part.columns(); ++r) {
      for (index_t c = head * d; c < (head + 1) * d; ++c) part(i, r) += heads(i, c) * w_o(r, c);
    }
  }
  return part;
}

Matrix rollout(const std::vector<Matrix>& weights) {
  const index_t tokens = weights.at(0).rows();
  Matrix flow(tokens, tokens);
  for (index_t i = 0; i < tokens; ++i) flow(i, i) = 1;
  for (const Matrix& layer : weights) {
    Matrix next(tokens, tokens);
    for (index_t i = 0; i < tokens; ++i) {
      for (index_t j = 0; j < tokens; ++j) {
        for (index_t k = 0; k < tokens; ++k) {
          next(i, j) += (layer(i, k) + (i == k ? 1 : 0)) / 2 * flow(k, j);
        }
      }
    }
    flow = next;
  }
  return flow;
}

}  // namespace tessera::exercises
