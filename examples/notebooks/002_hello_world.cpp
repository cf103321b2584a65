// "Hello World" through the first half of an encoder: positions, then two heads of self-attention.
//
//     E' = E + PE,   head_h = softmax(Q_h K_h^T / sqrt(d_k)) V_h  with  Q_h = E' W_Q_h, ...
//
// Two words, four dimensions, weights of zeros and ones: each number can be checked by hand. The
// attention is nearly all on one word. Its scores are large and far apart, because the embeddings
// are; division by sqrt(d_k) is not enough. Real models keep the numbers small with layer norm.
//
// Source: Vaswani et al., "Attention Is All You Need", 2017, sections 3.2.1, 3.2.2 and 3.5.
#include <cmath>
#include <iostream>
#include <vector>

#include <tessera/nn/positional_encoding.h>
#include <tessera/tensor/create.h>
#include <tessera/tensor/ops/attention.h>
#include <tessera/tensor/ops/ops.h>
#include <tessera/tensor/print.h>
#include "examples/course/example.h"

using namespace tessera;

namespace {

const PrintOptions kPlain{.suppress = true};  // 0.0001 instead of 1e-04

struct Head {
  Tensor w_key, w_value, w_query;  // (4, 3): 4 dimensions in, 3 out
};

/// Prints one head step by step. Returns its output, a row of 3 for each word.
Tensor run(const char* name, const Head& head, const Tensor& e) {
  const Tensor k = matmul(e, head.w_key);
  const Tensor v = matmul(e, head.w_value);
  const Tensor q = matmul(e, head.w_query);
  std::cout << name << ": keys\n" << to_string(k, kPlain) << '\n';
  std::cout << "values\n" << to_string(v, kPlain) << '\n';
  std::cout << "queries\n" << to_string(q, kPlain) << '\n';

  const Tensor scores = matmul(q, k.t()) / std::sqrt(3.0);
  std::cout << "scores Q K^T / sqrt(3)\n" << to_string(scores, kPlain) << '\n';

  // Printed without `suppress`, which would print the small weights as 0.
  const Tensor weights = softmax(scores);
  std::cout << "attention weights\n" << weights << '\n';

  const Tensor output = matmul(weights, v);
  std::cout << "output\n" << to_string(output, kPlain) << "\n\n";
  return output;
}

/// This variant loops over all columns i and writes 2i in the exponent, so the cosine in column 1
/// has its own frequency, 1/100; in the paper it has the frequency of the sine in column 0.
Tensor column_positions(index_t positions, index_t width) {
  std::vector<double> table;
  for (index_t pos = 0; pos < positions; ++pos) {
    for (index_t i = 0; i < width; ++i) {
      const double e = 2 * static_cast<double>(i) / static_cast<double>(width);
      const double angle = static_cast<double>(pos) / std::pow(10000.0, e);
      table.push_back(i % 2 == 0 ? std::sin(angle) : std::cos(angle));
    }
  }
  return from_vector(table, {positions, width});
}

/// Both heads, then the same by the library's modules.
void attend() {
  // The paper's vectors have 512 dimensions; these have 4, and are chosen instead of learned.
  const Tensor words = tensor({{1, 2, 3, 4},   // Hello
                               {2, 3, 4, 5}},  // World
                              kFloat64);

  const Tensor positions = column_positions(2, 4);
  std::cout << "Positional encodings\n" << repr(positions, kPlain) << "\n\n";

  const Tensor e = words + positions;
  std::cout << "E before adding:\n" << to_string(words, kPlain) << "\n\n";
  std::cout << "Positional encodings:\n" << to_string(positions, kPlain) << "\n\n";
  std::cout << "E after adding:\n" << to_string(e, kPlain) << "\n\n";

  nn::PositionalEncoding module({.d_model = 4});
  module.table = nn::Buffer(positions);  // otherwise the paper's
  std::cout << "The same by nn::PositionalEncoding:\n"
            << to_string(module(words), kPlain) << "\n\n";

  const Head head1{.w_key = tensor({{1, 0, 1}, {0, 1, 0}, {1, 0, 1}, {0, 1, 0}}),
                   .w_value = tensor({{0, 1, 1}, {1, 0, 0}, {1, 0, 1}, {0, 1, 0}}),
                   .w_query = tensor({{0, 0, 0}, {1, 1, 0}, {0, 0, 1}, {1, 0, 0}})};
  const Head head2{.w_key = tensor({{0, 1, 1}, {1, 0, 1}, {1, 1, 0}, {0, 1, 0}}),
                   .w_value = tensor({{1, 0, 0}, {0, 1, 1}, {0, 0, 1}, {1, 0, 0}}),
                   .w_query = tensor({{1, 0, 1}, {0, 1, 0}, {1, 0, 0}, {0, 1, 1}})};

  // The notebook ends with keys, values and queries; the rest of the formula follows here.
  const Tensor output1 = run("Head 1", head1, e);
  const Tensor output2 = run("Head 2", head2, e);
  const Tensor output = concat({output1, output2}, 1);
  std::cout << "The heads side by side\n"
            << to_string(output, kPlain) << '\n'
            << output.shape() << "\n\n";

  // Both heads at once: they are a leading axis, over which matmul and attention broadcast.
  const Tensor q = matmul(e, stack({head1.w_query, head2.w_query}));  // (2 heads, 2 words, 3)
  const Tensor k = matmul(e, stack({head1.w_key, head2.w_key}));
  const Tensor v = matmul(e, stack({head1.w_value, head2.w_value}));
  std::cout << "The same by attention(q, k, v), head 1 above head 2\n"
            << to_string(attention(q, k, v).output, kPlain) << '\n';
}

}  // namespace

int main() {
  return examples::run_example("002_hello_world", [] { attend(); });
}
