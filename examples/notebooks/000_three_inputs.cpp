// Three inputs through one head of attention, by hand.
//
// Attention gives every token information from all tokens. Each token has a query q, which is
// compared with the key k of every token; the better the two match, the more of that token's value
// v the result contains:
//
//     Attention(Q, K, V) = softmax(Q K^T / sqrt(d_k)) V
//
// That is one line, and one call at the end. The steps before it compute the formula in parts, with
// numbers small enough to follow in your head.
//
// Source: Vaswani et al., "Attention Is All You Need", 2017, sections 3.2.1, 3.4 and 3.5.
#include <cmath>
#include <iostream>
#include <vector>

#include <tessera/nn/positional_encoding.h>
#include <tessera/tensor/create.h>
#include <tessera/tensor/ops/attention.h>
#include <tessera/tensor/ops/ops.h>
#include <tessera/tensor/print.h>
#include <tessera/tensor/random.h>
#include "examples/course/example.h"

using namespace tessera;

namespace {

constexpr index_t kWidth = 512;  // d_model of the paper

/// A common mistake: a loop over the even columns i that still writes 2i, where the paper's i
/// counts pairs. The frequencies fall twice as fast, so half of the columns hardly change.
Tensor slipped_positions(index_t positions) {
  std::vector<double> table;
  for (index_t pos = 0; pos < positions; ++pos) {
    for (index_t i = 0; i < kWidth; i += 2) {
      const double e = 2 * static_cast<double>(i) / static_cast<double>(kWidth);
      const double angle = static_cast<double>(pos) / std::pow(10000.0, e);
      table.insert(table.end(), {std::sin(angle), std::cos(angle)});
    }
  }
  return from_vector(table, {positions, kWidth});
}

/// Attention does not depend on the order of its tokens, so each position adds its own pattern.
/// Every pair of columns is a point on the unit circle, sin and cos of pos / 10000^e, and each pair
/// rotates more slowly than the previous one.
void add_positions() {
  std::cout << "Positional encoding: 11 positions, d_model=512\n";
  const Tensor positions = slipped_positions(11);
  std::cout << to_string(positions, {.suppress = true}) << "\n\n";

  // The input embeddings carry meaning, the positions carry order; here positions are compared by
  // the cosine of the angle between their vectors. Neighbours are similar, and less so with
  // distance. This is clearer with the paper's exponent, for which all pairs rotate.
  const Tensor paper = sinusoidal_positions(11, kWidth, kFloat64);
  std::cout << "Cosine similarity of position 2 to each of the 11\n"
            << cosine_similarity(positions.slice(0, 2, 3), positions) << '\n'
            << "and with the paper's exponent\n"
            << cosine_similarity(paper.slice(0, 2, 3), paper) << "\n\n";

  manual_seed(0);
  const Tensor y = uniform(-0.05, 0.05, {3, kWidth}, kFloat64);
  std::cout << "Three embeddings, random here, learned in a model\n" << y << "\n\n";

  // Learned embeddings are small; multiplied by sqrt(d_model) they are not hidden by the positions.
  const Tensor sum = y * std::sqrt(512.0) + positions.slice(0, 0, 3);
  std::cout << "Scaled by sqrt(d_model), plus positions 0, 1 and 2\n" << sum << "\n\n";

  nn::PositionalEncoding module({.d_model = kWidth, .input_scale = std::sqrt(512.0)});
  module.table = nn::Buffer(positions);  // otherwise the paper's
  std::cout << "The same by nn::PositionalEncoding\n" << module(y) << "\n\n";
}

void attend() {
  std::cout << "Step 1: Input: 3 inputs, d_model=4\n";
  const Tensor x = tensor({{1, 0, 1, 0},   // input 1
                           {0, 2, 0, 2},   // input 2
                           {1, 1, 1, 1}},  // input 3
                          kFloat64);
  std::cout << x << "\n\n";

  // A model learns these three; here they are integers.
  std::cout << "Step 2: weights 3 dimensions x d_model=4\n";
  const Tensor w_query = tensor({{1, 0, 1}, {1, 0, 0}, {0, 0, 1}, {0, 1, 1}});
  const Tensor w_key = tensor({{0, 0, 1}, {1, 1, 0}, {0, 1, 0}, {1, 1, 0}});
  const Tensor w_value = tensor({{0, 2, 0}, {0, 3, 0}, {1, 0, 3}, {1, 1, 0}});
  std::cout << "w_query\n" << w_query << "\nw_key\n" << w_key << "\nw_value\n" << w_value << "\n\n";

  std::cout << "Step 3: Matrix multiplication to obtain Q, K, V\n";
  const Tensor q = matmul(x, w_query);
  const Tensor k = matmul(x, w_key);
  const Tensor v = matmul(x, w_value);
  std::cout << "Queries: x * w_query\n" << q << '\n';
  std::cout << "Keys: x * w_key\n" << k << '\n';
  std::cout << "Values: x * w_value\n" << v << "\n\n";

  std::cout << "Step 4: Scaled attention scores\n";
  const double k_d = 1;  // the square root of 3, rounded down to keep the numbers whole
  const Tensor scores = matmul(q, k.t()) / k_d;
  std::cout << scores << "\n\n";

  // Row i is the attention of input i to the three inputs, and adds up to 1. (The notebook prints
  // row 0 three times by mistake; these are rows 0, 1 and 2.)
  std::cout << "Step 5: Softmax of the scores, row by row\n";
  const Tensor weights = softmax(scores);
  for (index_t row = 0; row < 3; ++row) std::cout << weights.select(0, row) << '\n';

  std::cout << "\nStep 6: Attention values: what input 1 takes of each value\n";
  for (index_t row = 0; row < 3; ++row) std::cout << v.select(0, row) << '\n';
  const Tensor first = weights.select(0, 0);
  const Tensor attention1 = first.select(0, 0) * v.select(0, 0);
  const Tensor attention2 = first.select(0, 1) * v.select(0, 1);
  const Tensor attention3 = first.select(0, 2) * v.select(0, 2);
  std::cout << "Attention 1\n" << attention1 << '\n';
  std::cout << "Attention 2\n" << attention2 << '\n';
  std::cout << "Attention 3\n" << attention3 << "\n\n";

  std::cout << "Step 7: Summing the results: the output for input 1\n";
  std::cout << attention1 + attention2 + attention3 << "\n\n";

  // Steps 4 to 7 for all inputs at once, fused: the complete matrix of scores is never in memory.
  std::cout << "The outputs for all three inputs by attention(q, k, v)\n";
  std::cout << attention(q, k, v, {}, {.scale = 1 / k_d}).output << "\n\n";

  std::cout << "Step 8: A head in the paper's size: 3 inputs, 64 dimensions (random here)\n";
  manual_seed(8);
  std::cout << rand({3, 64}, kFloat64) << '\n';
}

}  // namespace

int main() {
  return examples::run_example("000_three_inputs", [] {
    add_positions();
    attend();
  });
}
