// A whole encoder layer by plain loops, compared with models::EncoderLayer.
//
// Lessons 002 to 004 made attention. A layer puts attention, and a small network that processes
// each token separately, between residual connections and norms:
//
//     post-norm   y = norm1(x + attention(x))        output = norm2(y + feed_forward(y))
//     pre-norm    y = x + attention(norm1(x))        output = y + feed_forward(norm2(y))
//
// Source: Vaswani et al., "Attention Is All You Need", 2017, sections 3.1 to 3.3; Ba, Kiros and
// Hinton, "Layer Normalization", 2016; Xiong et al., "On Layer Normalization in the Transformer
// Architecture", 2020.
#include <algorithm>
#include <cmath>
#include <cstdio>

#include <tessera/models/encoder_layer.h>
#include <tessera/nn/module.h>
#include <tessera/tensor/ops/rearrange.h>
#include "examples/course/example.h"
#include "examples/course/layer_by_hand.h"

using namespace tessera;
using namespace tessera::examples;

namespace {

constexpr index_t kHeads = 2;

/// The learned weights of the layer; here, numbers that you can follow. As in PyTorch, each weight
/// has a row for every number that it computes: (out, in).
struct Weights {
  Matrix w_q = {{1, 0, 0.5, 0}, {0, 1, 0, -0.5}, {0.5, 0, 1, 0}, {0, -1, 0, 0.5}};
  Matrix w_k = {{0.5, 0.5, 0, 0}, {0, 1, 0, 1}, {1, 0, -0.5, 0}, {0, 0.5, 0.5, 0}};
  Matrix w_v = {{1, 0, 0, 0.5}, {0, 1, 0.5, 0}, {0, -0.5, 1, 0}, {0.5, 0, 0, 1}};
  Matrix b_q = {{0, 0.1, 0, -0.1}};
  Matrix b_k = {{0.2, 0, 0, 0}};
  Matrix b_v = {{0, 0, 0.1, 0}};
  Matrix w_o = {{1, 0, 0.5, 0}, {0, 1, 0, 0.5}, {0.5, 0, -1, 0}, {0, 0.5, 0, -1}};
  Matrix b_o = {{0.1, 0, 0, -0.1}};
  Matrix gamma1 = {{1, 1, 2, 0.5}};
  Matrix beta1 = {{0, 0.1, 0, -0.1}};
  Matrix w_1 = {{1, 0, 0, -1}, {0, 1, -1, 0}, {0.5, 0.5, 0.5, 0.5},
                {-1, 0, 0, 1}, {0, -1, 1, 0}, {1, -1, 1, -1}};
  Matrix b_1 = {{0, 0, 0.2, 0, 0, -0.2}};
  Matrix w_2 = {
      {0.5, 0, 1, 0, 0, 0}, {0, 0.5, 1, 0, 0, 0}, {0, 0, -1, 0.5, 0, 0.5}, {0, 0, -1, 0, 0.5, 0}};
  Matrix b_2 = {{0, 0, 0, 0.1}};
  Matrix gamma2 = {{1, 1, 1, 1}};
  Matrix beta2 = {{0, 0, 0, 0}};
};

// ---- the parts that layer_by_hand.h does not have ----

/// Lessons 002 to 004 in one function.
Matrix attention(const Matrix& x, const Weights& w, bool print) {
  const Matrix q = linear(x, w.w_q, w.b_q);
  const Matrix k = linear(x, w.w_k, w.b_k);
  const Matrix v = linear(x, w.w_v, w.b_v);
  for (index_t h = 0; print && h < kHeads; ++h) {
    show(str_cat("Weights of head ", h + 1),
         attention_weights(columns_of_head(q, h, kHeads), columns_of_head(k, h, kHeads)));
  }
  return linear(heads_of(q, k, v, kHeads), w.w_o, w.b_o);
}

Matrix relu(const Matrix& x) {
  return matrix_of(x.rows(), x.columns(),
                   [&](index_t i, index_t j) { return std::max(x(i, j), 0.0); });
}

Matrix feed_forward(const Matrix& x, const Weights& w) {
  return linear(relu(linear(x, w.w_1, w.b_1)), w.w_2, w.b_2);
}

// ---- the library's layer with these weights ----

Tensor vector(const Matrix& m) {
  return Tensor(m).flatten();
}

models::EncoderLayer library_layer(const Weights& w, bool norm_first) {
  models::EncoderLayer layer({.d_model = 4,
                              .nhead = kHeads,
                              .dim_feedforward = 6,
                              .dropout = 0,
                              .layer_norm_eps = kNormEps,
                              .norm_first = norm_first});
  nn::convert(layer, kFloat64);
  // Queries, keys and values are rows of one matrix.
  layer.self_attn->in_proj_weight = concat({Tensor(w.w_q), Tensor(w.w_k), Tensor(w.w_v)});
  layer.self_attn->in_proj_bias = concat({vector(w.b_q), vector(w.b_k), vector(w.b_v)});
  layer.self_attn->out_proj.weight = Tensor(w.w_o);
  layer.self_attn->out_proj.bias = vector(w.b_o);
  layer.norm1->weight = vector(w.gamma1);
  layer.norm1->bias = vector(w.beta1);
  layer.feed_forward->linear1.weight = Tensor(w.w_1);
  layer.feed_forward->linear1.bias = vector(w.b_1);
  layer.feed_forward->linear2.weight = Tensor(w.w_2);
  layer.feed_forward->linear2.bias = vector(w.b_2);
  layer.norm2.weight = vector(w.gamma2);
  layer.norm2.bias = vector(w.beta2);
  return layer;
}

// ---- the lesson ----

/// The norm of one row, step by step.
void take_a_norm_apart(const Matrix& x, const Weights& w) {
  const Tensor row = Tensor(x).select(0, 0);
  double mean = 0;
  for (index_t j = 0; j < 4; ++j) mean += x(0, j) / 4;
  Matrix centred(1, 4);
  double variance = 0;
  for (index_t j = 0; j < 4; ++j) {
    centred(0, j) = x(0, j) - mean;
    variance += centred(0, j) * centred(0, j) / 4;
  }
  Matrix unit(1, 4);
  for (index_t j = 0; j < 4; ++j) unit(0, j) = centred(0, j) / std::sqrt(variance + kNormEps);
  std::printf("Step 4: Layer norm, of the first row: %s\n",
              to_string(row, {.precision = 4}).c_str());
  std::printf("its mean is %.4f, its variance %.4f\n", mean, variance);
  show("Less the mean", centred);
  show("Divided by the deviation, sqrt(variance + eps): mean 0, variance 1", unit);
  show("Times gamma, plus beta, for all rows: norm1", layer_norm(x, w.gamma1, w.beta1));
}

void post_norm(const Matrix& x, const Weights& w) {
  show("Step 1: Three tokens, D = 4", x);
  std::printf("Step 2: Attention with two heads, as in 004\n");
  const Matrix attended = attention(x, w, true);
  show("What attention adds to each token", attended);
  const Matrix sum = sum_of(x, attended);
  show("Step 3: The residual connection: x + attention(x)", sum);
  take_a_norm_apart(sum, w);

  const Matrix y = layer_norm(sum, w.gamma1, w.beta1);
  const Matrix inner = linear(y, w.w_1, w.b_1);
  show("Step 5: The feed-forward network, F = 6: y W1^T + b1", inner);
  show("relu: what is negative becomes 0", relu(inner));
  show("times W2^T plus b2: what the network adds", feed_forward(y, w));
  const Matrix output = layer_norm(sum_of(y, feed_forward(y, w)), w.gamma2, w.beta2);
  show("Step 6: norm2(y + feed_forward(y)): the layer's output", output);
  const models::EncoderLayer layer = library_layer(w, false);
  show("The same by models::EncoderLayer", layer(Tensor(x)));
  check_close("post-norm", output, layer(Tensor(x)));
}

void pre_norm(const Matrix& x, const Weights& w) {
  show("Step 7: Pre-norm, the same weights: norm1(x)", layer_norm(x, w.gamma1, w.beta1));
  const Matrix y = sum_of(x, attention(layer_norm(x, w.gamma1, w.beta1), w, false));
  show("y = x + attention(norm1(x))", y);
  const Matrix output = sum_of(y, feed_forward(layer_norm(y, w.gamma2, w.beta2), w));
  show("y + feed_forward(norm2(y)): the layer's output", output);
  const models::EncoderLayer layer = library_layer(w, true);
  show("The same by models::EncoderLayer with norm_first", layer(Tensor(x)));
  check_close("pre-norm", output, layer(Tensor(x)));
}

/// The spread of a token's numbers: the deviation of the first row.
double spread(const Tensor& x) {
  const Matrix m = x;
  double mean = 0;
  double squares = 0;
  for (index_t j = 0; j < 4; ++j) mean += m(0, j) / 4;
  for (index_t j = 0; j < 4; ++j) squares += (m(0, j) - mean) * (m(0, j) - mean) / 4;
  return std::sqrt(squares);
}

void stack(const Matrix& x, const Weights& w) {
  std::printf("Step 8: The deviation of the first token after 1, 2, ... 6 layers\n");
  for (const bool norm_first : {false, true}) {
    const models::EncoderLayer layer = library_layer(w, norm_first);
    Tensor y = Tensor(x);
    std::printf("%s", norm_first ? "pre-norm " : "post-norm");
    for (int i = 0; i < 6; ++i) {
      y = layer(y);
      std::printf(" %.3f", spread(y));
    }
    std::printf("\n");
  }
}

}  // namespace

int main() {
  return run_example("006_a_layer_by_hand", [] {
    const Matrix x = {{1, 0, 0.5, -1}, {0, 2, 0, 1}, {0.5, -1, 1, 0}};
    const Weights weights;
    post_norm(x, weights);
    pre_norm(x, weights);
    stack(x, weights);
  });
}
