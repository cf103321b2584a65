// Mistakes that can be planted, and how the hint begins that each must get.
//
// unmapped: the length is that of W_O v, not of v
// sum: a length is the root of the sum of the squares
// undivided: divide each row by its sum
// first_columns: the head's columns of W_O
// first_input: the head's columns of its input
// no_identity: half of each token stays where it is
// right: each layer is multiplied from the left
#include "examples/course/exercises/009_what_heads_do.h"

#include <cmath>

#include "tests/programs/mistakes/planted.h"

namespace tessera::exercises {

namespace {

/// |W_O v_j|.
double length_of(const Matrix& values, index_t j, const Matrix& w_o) {
  double squares = 0;
  double sum = 0;
  for (index_t r = 0; r < w_o.rows(); ++r) {
    double y = 0;
    for (index_t c = 0; c < w_o.columns(); ++c) {
      y += planted("unmapped") ? (c == r ? values(j, c) : 0) : w_o(r, c) * values(j, c);
    }
    squares += y * y;
    sum += y;
  }
  return planted("sum") ? sum : std::sqrt(squares);
}

Matrix product(const Matrix& a, const Matrix& b) {
  Matrix c(a.rows(), b.columns());
  for (index_t i = 0; i < a.rows(); ++i) {
    for (index_t j = 0; j < b.columns(); ++j) {
      for (index_t k = 0; k < b.rows(); ++k) c(i, j) += a(i, k) * b(k, j);
    }
  }
  return c;
}

}  // namespace

Matrix value_shares(const Matrix& weights, const Matrix& values, const Matrix& w_o) {
  Matrix shares = weights;
  for (index_t i = 0; i < shares.rows(); ++i) {
    double sum = 0;
    for (index_t j = 0; j < shares.columns(); ++j) {
      shares(i, j) *= length_of(values, j, w_o);
      sum += shares(i, j);
    }
    for (index_t j = 0; j < shares.columns(); ++j) shares(i, j) /= planted("undivided") ? 1 : sum;
  }
  return shares;
}

Matrix part_of_head(const Matrix& heads, const Matrix& w_o, index_t head, index_t count) {
  const index_t d = heads.columns() / count;
  Matrix part(heads.rows(), w_o.rows());
  for (index_t i = 0; i < part.rows(); ++i) {
    for (index_t r = 0; r < part.columns(); ++r) {
      for (index_t c = 0; c < d; ++c) {
        const index_t column = head * d + c;
        part(i, r) += heads(i, planted("first_input") ? c : column) *
                      w_o(r, planted("first_columns") ? c : column);
      }
    }
  }
  return part;
}

Matrix rollout(const std::vector<Matrix>& weights) {
  const index_t tokens = weights.at(0).rows();
  Matrix flow(tokens, tokens);
  for (index_t i = 0; i < tokens; ++i) flow(i, i) = 1;
  for (const Matrix& layer : weights) {
    Matrix passed = layer;
    for (index_t i = 0; i < tokens && !planted("no_identity"); ++i) {
      for (index_t j = 0; j < tokens; ++j) passed(i, j) = (layer(i, j) + (i == j ? 1 : 0)) / 2;
    }
    flow = planted("right") ? product(flow, passed) : product(passed, flow);
  }
  return flow;
}

}  // namespace tessera::exercises
