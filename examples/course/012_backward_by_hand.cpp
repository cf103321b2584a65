// Gradients by hand: of a linear layer, softmax, layer norm and attention.
//
// Each is computed three times, and the three are compared: by its formula in plain loops; by the
// library's op under a Tape; and by central differences, which use no formulas,
//
//     dL/dx_ij  =  (L(x_ij + h) - L(x_ij - h)) / 2h,      L = sum of y_ij dy_ij
//
// A gradient is named after its variable: dx is dL/dx. Each backward takes dy, the gradient of its
// output, and returns dx, the gradient of its input.
//
//   012_backward_by_hand [FOLDER]     prints; draws FOLDER/012_attention.svg
//
// Source: Rumelhart, Hinton and Williams, "Learning representations by back-propagating errors",
// 1986; Dao et al., "FlashAttention", 2022, appendix B.2, for attention.
#include <cmath>
#include <cstdio>
#include <functional>
#include <string>

#include <tessera/tensor/autograd/tape.h>
#include <tessera/tensor/ops/ops.h>
#include <tessera/tensor/print.h>
#include "examples/course/example.h"
#include "examples/course/layer_by_hand.h"
#include "examples/course/pictures.h"

using namespace tessera;
using namespace tessera::examples;

namespace {

// layer_by_hand.h has the forward passes.

// ---- a linear layer: y = x W^T + b ----

struct LinearGradients {
  Matrix dx, dw, db;
};

/// If the loop of `linear` reads x(i, k) and w(j, k) for y(i, j), the gradient of each gets
/// dy(i, j) times the other.
LinearGradients linear_backward(const Matrix& x, const Matrix& w, const Matrix& dy) {
  Matrix dx(x.rows(), x.columns());
  Matrix dw(w.rows(), w.columns());
  Matrix db(1, w.rows());
  for (index_t i = 0; i < dy.rows(); ++i) {
    for (index_t j = 0; j < dy.columns(); ++j) {
      db(0, j) += dy(i, j);
      for (index_t k = 0; k < x.columns(); ++k) {
        dx(i, k) += dy(i, j) * w(j, k);
        dw(j, k) += dy(i, j) * x(i, k);
      }
    }
  }
  return {dx, dw, db};
}

// ---- softmax of each row ----

/// dx_j = p_j (dp_j - sum_k p_k dp_k); from the forward it only needs the output.
Matrix softmax_backward(const Matrix& p, const Matrix& dp) {
  Matrix dx(p.rows(), p.columns());
  for (index_t i = 0; i < p.rows(); ++i) {
    double expected = 0;
    for (index_t k = 0; k < p.columns(); ++k) expected += p(i, k) * dp(i, k);
    for (index_t j = 0; j < p.columns(); ++j) dx(i, j) = p(i, j) * (dp(i, j) - expected);
  }
  return dx;
}

// ---- layer norm of each row: y = n gamma + beta, n = (x - mean) / sqrt(variance + eps) ----

struct LayerNormGradients {
  Matrix dx, dgamma, dbeta;
};

/// dx_j = rscale (g_j - mean(g) - n_j mean(g n)) with g = dy gamma. The part of g that would change
/// the mean of the row or its variance is subtracted, because the norm removes it from y.
LayerNormGradients layer_norm_backward(const Matrix& x, const Matrix& gamma, const Matrix& dy) {
  const Normalised forward = normalise(x);
  const Matrix& n = forward.n;
  const auto width = static_cast<double>(x.columns());
  Matrix dx(x.rows(), x.columns());
  Matrix dgamma(1, x.columns());
  Matrix dbeta(1, x.columns());
  for (index_t i = 0; i < x.rows(); ++i) {
    double mean_g = 0;
    double mean_gn = 0;
    for (index_t j = 0; j < x.columns(); ++j) {
      const double g = dy(i, j) * gamma(0, j);
      mean_g += g / width;
      mean_gn += g * n(i, j) / width;
      dgamma(0, j) += dy(i, j) * n(i, j);
      dbeta(0, j) += dy(i, j);
    }
    for (index_t j = 0; j < x.columns(); ++j) {
      const double g = dy(i, j) * gamma(0, j);
      dx(i, j) = forward.rscale(i, 0) * (g - mean_g - n(i, j) * mean_gn);
    }
  }
  return {dx, dgamma, dbeta};
}

// ---- attention: O = P V, P = softmax(S), S = Q K^T / sqrt(d) ----

Matrix attention(const Matrix& q, const Matrix& k, const Matrix& v) {
  return product(attention_weights(q, k), v);
}

struct AttentionGradients {
  Matrix dq, dk, dv;
};

/// From the output back: through O = P V, through the softmax, through S = Q K^T / sqrt(d).
AttentionGradients attention_backward(const Matrix& q, const Matrix& k, const Matrix& v,
                                      const Matrix& d_o) {
  const Matrix p = attention_weights(q, k);
  const Matrix dv = product(transposed(p), d_o);
  const Matrix dp = product(d_o, transposed(v));
  const Matrix ds = softmax_backward(p, dp);
  const double scale = 1 / std::sqrt(static_cast<double>(q.columns()));
  const Matrix dq = scaled(product(ds, k), scale);
  const Matrix dk = scaled(product(transposed(ds), q), scale);
  return {dq, dk, dv};
}

// ---- the three ways, compared ----

/// L: a weighted sum, so that dL/dy is dy.
double loss_of(const Matrix& y, const Matrix& dy) {
  double loss = 0;
  for (std::size_t i = 0; i < y.values().size(); ++i) loss += y.values()[i] * dy.values()[i];
  return loss;
}

/// dL/dx by central differences: two losses for each number of x.
Matrix differences(Matrix x, const std::function<double(const Matrix&)>& loss) {
  constexpr double kStep = 1e-5;
  Matrix dx(x.rows(), x.columns());
  for (index_t i = 0; i < x.rows(); ++i) {
    for (index_t j = 0; j < x.columns(); ++j) {
      const double before = x(i, j);
      x(i, j) = before + kStep;
      const double above = loss(x);
      x(i, j) = before - kStep;
      const double below = loss(x);
      x(i, j) = before;
      dx(i, j) = (above - below) / (2 * kStep);
    }
  }
  return dx;
}

/// Prints a gradient by hand. **Errors**: the tape or the differences disagree.
void compare(const char* name, const Matrix& hand, const Tensor& variable,
             const Matrix& by_differences) {
  std::printf("%s\n%s\n", name,
              to_string(Tensor(hand), {.precision = 4, .suppress = true}).c_str());
  const double to_tape = largest_difference(hand, variable.grad());
  const double to_differences = largest_difference(hand, by_differences);
  require(to_tape <= 1e-12, name,
          "must be the same by hand and by the tape to 1e-12, got a difference of ", to_tape);
  require(to_differences <= 1e-8, name,
          "must be the same by hand and by central differences to 1e-8, got a difference of ",
          to_differences);
  std::printf("the tape agrees to 1e-12, central differences to 1e-8\n\n");
}

Tensor variable(const Tensor& x) {
  return x.clone().set_requires_grad();
}

const Matrix kX = {{1, 2, -1}, {0, 0.5, 3}};
const Matrix kDy = {{1, -1, 0.5}, {2, 0, -1}};

void a_linear_layer() {
  const Matrix w = {{1, 0, 2}, {-1, 1, 0}, {0.5, 0.5, -0.5}};
  const Matrix b = {{0.1, 0, -0.1}};
  std::printf("Step 1: A linear layer, y = x W^T + b\n");
  show("y", linear(kX, w, b));
  show("dy: the gradient of each number of y, given", kDy);
  const LinearGradients hand = linear_backward(kX, w, kDy);

  const Tensor x = variable(kX);
  const Tensor weight = variable(w);
  const Tensor bias = variable(Tensor(b).flatten());
  Tape tape;
  tape.backward(tessera::linear(x, weight, bias), kDy);
  const auto loss = [&](const Matrix& y) { return loss_of(y, kDy); };
  compare("dx = dy W", hand.dx, x,
          differences(kX, [&](const Matrix& m) { return loss(linear(m, w, b)); }));
  compare("dW = dy^T x", hand.dw, weight,
          differences(w, [&](const Matrix& m) { return loss(linear(kX, m, b)); }));
  compare("db = the sum of dy's rows", hand.db, bias,
          differences(b, [&](const Matrix& m) { return loss(linear(kX, w, m)); }));
}

void a_softmax() {
  std::printf("Step 2: Softmax of each row\n");
  const Matrix p = softmax_of_rows(kX);
  show("p", p);
  const Tensor x = variable(kX);
  Tape tape;
  tape.backward(tessera::softmax(x), kDy);
  compare("dx = p (dp - sum of p dp): each row adds up to 0", softmax_backward(p, kDy), x,
          differences(kX, [&](const Matrix& m) { return loss_of(softmax_of_rows(m), kDy); }));
}

void a_layer_norm() {
  const Matrix gamma = {{1, 2, 0.5}};
  const Matrix beta = {{0, 0.1, -0.1}};
  std::printf("Step 3: Layer norm of each row\n");
  show("y", layer_norm(kX, gamma, beta));
  const LayerNormGradients hand = layer_norm_backward(kX, gamma, kDy);

  const Tensor x = variable(kX);
  const Tensor weight = variable(Tensor(gamma).flatten());
  const Tensor bias = variable(Tensor(beta).flatten());
  Tape tape;
  tape.backward(tessera::layer_norm(x, weight, bias, kNormEps), kDy);
  const auto loss = [&](const Matrix& y) { return loss_of(y, kDy); };
  compare("dx: each row adds up to 0 here too", hand.dx, x,
          differences(kX, [&](const Matrix& m) { return loss(layer_norm(m, gamma, beta)); }));
  compare("dgamma = the sum over rows of dy n", hand.dgamma, weight,
          differences(gamma, [&](const Matrix& m) { return loss(layer_norm(kX, m, beta)); }));
  compare("dbeta = the sum of dy's rows", hand.dbeta, bias,
          differences(beta, [&](const Matrix& m) { return loss(layer_norm(kX, gamma, m)); }));
}

/// The three matrices of step 4 between scores and output: positive blue, negative red.
void draw(const std::string& folder, const Matrix& p, const Matrix& dp) {
  const std::vector<std::string> tokens = {"0", "1", "2"};
  Picture picture = {.description =
                         "Attention weights P, their gradient dP, and the gradient dS of "
                         "the scores, whose rows add up to 0",
                     .panels = {},
                     .low = -2,
                     .high = 2,
                     .square = 48,
                     .digits = 2};
  picture.panels = {{"P", p, "key", "query", tokens, tokens},
                    {"dP", dp, "key", "query", tokens, tokens},
                    {"dS", softmax_backward(p, dp), "key", "query", tokens, tokens}};
  write_picture(folder, "012_attention.svg", picture);
}

void an_attention(const std::string& pictures) {
  const Matrix q = {{1, 0}, {0, 2}, {-1, 1}};
  const Matrix k = {{1, 1}, {0, -1}, {2, 0}};
  const Matrix v = {{1, 0}, {0, 1}, {2, -1}};
  const Matrix d_o = {{1, 0.5}, {-1, 0}, {0, 2}};
  std::printf("Step 4: Attention, O = softmax(Q K^T / sqrt(d)) V\n");
  show("P, the weights", attention_weights(q, k));
  show("dP = dO V^T: the gradient of each weight", product(d_o, transposed(v)));
  const AttentionGradients hand = attention_backward(q, k, v, d_o);

  const Tensor tq = variable(q);
  const Tensor tk = variable(k);
  const Tensor tv = variable(v);
  Tape tape;
  tape.backward(tessera::attention(tq, tk, tv).output, d_o);
  const auto loss = [&](const Matrix& y) { return loss_of(y, d_o); };
  compare("dV = P^T dO", hand.dv, tv,
          differences(v, [&](const Matrix& m) { return loss(attention(q, k, m)); }));
  compare("dQ = dS K / sqrt(d), with dS the softmax's backward of dP", hand.dq, tq,
          differences(q, [&](const Matrix& m) { return loss(attention(m, k, v)); }));
  compare("dK = dS^T Q / sqrt(d)", hand.dk, tk,
          differences(k, [&](const Matrix& m) { return loss(attention(q, m, v)); }));
  if (!pictures.empty()) {
    draw(pictures, attention_weights(q, k), product(d_o, transposed(v)));
  }
}

/// y = norm(x + attention(x, x, x)): backward calls the same functions from last to first. x is
/// read in four places, so it gets four gradients, which are added.
void all_together() {
  const Matrix ones = {{1, 1, 1}};
  const Matrix zeros = {{0, 0, 0}};
  const auto block = [&](const Matrix& x) {
    return layer_norm(sum_of(x, attention(x, x, x)), ones, zeros);
  };
  std::printf("Step 5: All together, y = norm(x + attention(x, x, x))\n");
  show("y", block(kX));
  const Matrix d_sum = layer_norm_backward(sum_of(kX, attention(kX, kX, kX)), ones, kDy).dx;
  show("Through the norm: the gradient of the sum", d_sum);
  const AttentionGradients inner = attention_backward(kX, kX, kX, d_sum);
  const Matrix dx = sum_of(sum_of(d_sum, inner.dq), sum_of(inner.dk, inner.dv));

  const Tensor x = variable(kX);
  Tape tape;
  tape.backward(tessera::layer_norm(x + tessera::attention(x, x, x).output, {}, {}, kNormEps),
                Tensor(kDy));
  compare("dx: past attention, and through its queries, keys and values", dx, x,
          differences(kX, [&](const Matrix& m) { return loss_of(block(m), kDy); }));
}

}  // namespace

int main(int argc, char** argv) {
  return run_example("012_backward_by_hand", argc, argv, "[FOLDER]", [&] {
    a_linear_layer();
    a_softmax();
    a_layer_norm();
    an_attention(argc > 1 ? argv[1] : "");
    all_together();
  });
}
