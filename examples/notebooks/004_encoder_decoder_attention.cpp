// Attention from a decoder to an encoder, then one token's self-attention, then the heads.
//
// In translation, before the decoder writes word i, it compares its own last state h^d with the
// encoder's states h^e_j. h^d is the query; the states are both keys and values:
//
//     alpha_ij = softmax_j(h^d_{i-1} . h^e_j / sqrt(n)),     c_i = sum_j alpha_ij h^e_j
//
// Sources: Vaswani et al., "Attention Is All You Need", 2017, section 3.2; the form without
// projections is the dot score of Luong et al., "Effective Approaches to Attention-based Neural
// Machine Translation", 2015, section 3.1.
#include <cmath>
#include <iostream>
#include <stdexcept>
#include <vector>

#include <tessera/nn/attention.h>
#include <tessera/tensor/create.h>
#include <tessera/tensor/error.h>
#include <tessera/tensor/ops/attention.h>
#include <tessera/tensor/ops/ops.h>
#include <tessera/tensor/print.h>
#include "examples/course/example.h"

using namespace tessera;

namespace {

/// n, the width of encoder and decoder states.
index_t hidden_state_dimension(const Tensor& h_e, const Tensor& h_d) {
  const index_t encoder = h_e.size(-1);
  const index_t decoder = h_d.size(-1);
  if (encoder != decoder) {
    throw std::invalid_argument(
        str_cat("Dimension mismatch: encoder = ", encoder, ", decoder = ", decoder));
  }
  return encoder;
}

void context_vector() {
  const Tensor h_e = tensor({{0.64, -0.27, 0.89, -0.12},  // this
                             {-0.45, 0.33, 0.71, 0.08},   // is
                             {0.19, -0.94, 0.56, 0.37},   // a
                             {0.03, 0.85, -0.41, 0.76}},  // translation
                            kFloat64);
  const Tensor h_d = tensor({{0.58, -0.13, 0.94, 0.22}, {0.45, 0.11, -0.88, 0.67}}, kFloat64);
  std::cout << "Question 1: the context vector\nDecoder states\n" << h_d.shape() << '\n';

  const Tensor scores = matmul(h_e, h_d.select(0, 1));
  std::cout << "Scores of the second decoder state\n" << repr(scores) << '\n';
  const index_t n = hidden_state_dimension(h_e, h_d);
  std::cout << "n = " << n << '\n';
  const Tensor scaled = scores / std::sqrt(static_cast<double>(n));
  std::cout << "Scaled scores\n" << repr(scaled) << '\n';
  const Tensor weights = softmax(scaled);
  std::cout << "Attention weights\n" << repr(weights) << '\n';

  // Weight j belongs to row j, so the weights must be a column, (4, 1), to multiply the states. The
  // notebook multiplies them with shape (4,), and broadcasting places them along the rows: weight j
  // scales feature j of every state, without an error. (Its function also sums a global, h_i_e,
  // instead of its argument; both were the same, so the result did not show this mistake.)
  std::cout << "The notebook's context vector: weights along the wrong axis\n"
            << repr(sum(weights * h_e, {0})) << '\n';
  std::cout << "Context vector: sum over j of weight j times state j\n"
            << repr(sum(weights.unsqueeze(1) * h_e, {0})) << '\n';
  std::cout << "The same as a matrix product, whose inner sizes must agree\n"
            << repr(matmul(weights, h_e)) << '\n';
  std::cout << "The same by attention(query, states, states)\n"
            << repr(attention(h_d.slice(0, 1, 2), h_e, h_e).output) << "\n\n";
}

struct Weights {
  Tensor q = tensor({{0.12, -0.87, 0.33, 0.45},
                     {0.76, 0.21, -0.34, 0.67},
                     {-0.55, 0.18, 0.29, -0.73},
                     {0.03, -0.99, 0.42, 0.11}},
                    kFloat64);
  Tensor k = tensor({{0.64, -0.27, 0.89, -0.12},
                     {-0.45, 0.33, 0.71, 0.08},
                     {0.19, -0.94, 0.56, 0.37},
                     {0.03, 0.85, -0.41, 0.76}},
                    kFloat64);
  Tensor v = tensor({{0.58, -0.13, 0.94, 0.22},
                     {-0.31, 0.66, -0.74, 0.09},
                     {0.45, 0.11, -0.88, 0.67},
                     {-0.92, 0.37, 0.28, -0.50}},
                    kFloat64);
};

void one_token(const Tensor& x, const Weights& w) {
  std::cout << "Question 2: what \"is\" takes from \"this is translation\"\n" << repr(x) << '\n';
  const index_t n = x.size(1);
  std::cout << "n = " << n << '\n';

  const Tensor q_of_is = matmul(x.select(0, 1), w.q);
  const Tensor q = q_of_is.unsqueeze(0);  // attention takes a matrix of queries: one row
  const Tensor k = matmul(x, w.k);
  const Tensor v = matmul(x, w.v);
  std::cout << "Q, from a vector of shape\n" << q_of_is.shape() << '\n';
  std::cout << repr(q) << '\n' << q.shape() << '\n';
  std::cout << "K\n" << repr(k) << "\nand K^T\n" << k.t().shape() << '\n';
  std::cout << "V\n" << repr(v) << '\n';

  const Tensor weights = softmax(matmul(q, k.t()) / std::sqrt(static_cast<double>(n)));
  std::cout << "Attention weights\n" << repr(weights) << '\n';
  std::cout << "Single attention\n" << repr(matmul(weights, v)) << '\n';
  std::cout << "The same by attention(q, k, v)\n" << repr(attention(q, k, v).output) << "\n\n";
}

void print_split(const char* name, const Tensor& w) {
  std::cout << name << '\n' << repr(w) << '\n';
  for (const Tensor& head : w.chunk(2, 1)) std::cout << repr(head) << '\n';
}

void two_heads(const Tensor& x, const Weights& w) {
  std::cout << "Question 3: two heads\n";
  print_split("W_Q, and its columns for head 1 and head 2", w.q);
  print_split("W_K", w.k);
  print_split("W_V", w.v);
  std::cout << "Concat(W_V_1, W_V_2)\n" << concat(w.v.chunk(2, 1), 1).shape() << '\n';

  // Multiplying by half of the columns gives half of the product: the projections can be divided
  // instead of the weights, which gives one product for all heads. split_heads needs a batch axis.
  const Tensor q = nn::split_heads(matmul(x, w.q).unsqueeze(0), 2);  // (1, 2 heads, 3 tokens, 2)
  const Tensor k = nn::split_heads(matmul(x, w.k).unsqueeze(0), 2);
  const Tensor v = nn::split_heads(matmul(x, w.v).unsqueeze(0), 2);
  const Tensor heads = attention(q, k, v).output.squeeze(0);
  std::cout << "head 1\n" << repr(heads.select(0, 0)) << '\n';
  std::cout << "head 2\n" << repr(heads.select(0, 1)) << '\n';
  const Tensor side_by_side = nn::merge_heads(heads.unsqueeze(0)).squeeze(0);
  std::cout << "Concat(head 1, head 2)\n" << repr(side_by_side) << '\n';

  // W^O combines the heads and keeps the shape (tokens, d_model). This one gives their sum and
  // their difference.
  const Tensor w_o = tensor({{1, 0, 1, 0}, {0, 1, 0, 1}, {1, 0, -1, 0}, {0, 1, 0, -1}}, kFloat64);
  std::cout << "W^O\n" << w_o.shape() << '\n';
  std::cout << "MultiHead(x) = Concat(head 1, head 2) W^O\n"
            << repr(matmul(side_by_side, w_o)) << '\n';

  // The module has PyTorch's form of weights: one matrix for all three projections, transposed,
  // because a linear layer computes x W^T.
  nn::MultiHeadAttention module({.embed_dim = 4, .num_heads = 2, .bias = false});
  module.in_proj_weight = concat({w.q.t(), w.k.t(), w.v.t()});
  module.out_proj.weight = w_o.t();
  std::cout << "The same by nn::MultiHeadAttention\n"
            << repr(module(x.unsqueeze(0)).output.squeeze(0)) << "\n\n";
}

void mismatch() {
  std::cout << "When the widths differ\n";
  const Tensor h_e = zeros({4, 4}, kFloat64);
  const Tensor h_d = zeros({3}, kFloat64);
  try {
    hidden_state_dimension(h_e, h_d);
  } catch (const std::invalid_argument& error) {
    std::cout << error.what() << '\n';
  }
  // This check is optional: every op checks its inputs, and the error names the op and the shapes.
  try {
    matmul(h_e, h_d);
  } catch (const std::invalid_argument& error) {
    std::cout << error.what() << '\n';
  }
}

}  // namespace

int main() {
  return examples::run_example("004_encoder_decoder_attention", [] {
    context_vector();
    const Tensor x = tensor({{0.12, -0.87, 0.33, 0.45},   // this
                             {0.76, 0.21, -0.34, 0.67},   // is
                             {0.03, -0.99, 0.42, 0.11}},  // translation
                            kFloat64);
    const Weights weights;
    one_token(x, weights);
    two_heads(x, weights);
    mismatch();
  });
}
