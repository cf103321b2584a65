// One head of attention in integers.
//
//     Attention(Q, K, V) = softmax(Q K^T / sqrt(d)) V,    Q = x W_Q,  K = x W_K,  V = x W_V
//
// Each token has a query q, which is compared with the key k of every token, also its own. The
// better the two match, the more of that token's value v the result contains. All numbers up to the
// scores are whole, so that you can check them in your head.
//
//   002_one_head [FOLDER]     prints; draws FOLDER/002_head.svg
//
// Source: Vaswani et al., "Attention Is All You Need", 2017, section 3.2.1.
#include <cmath>
#include <cstdio>

#include <tessera/tensor/ops/attention.h>
#include <tessera/tensor/ops/ops.h>
#include "examples/course/by_hand.h"
#include "examples/course/example.h"
#include "examples/course/pictures.h"

using namespace tessera;
using namespace tessera::examples;

namespace {

// Three tokens of D = 4 numbers. A model learns the weights, (D, d); these are chosen by hand.
const Matrix kX = {{1, 0, 1, 0}, {0, 2, 0, 2}, {1, 1, 1, 1}};
const Matrix kQuery = {{1, 0, 1}, {1, 0, 0}, {0, 0, 1}, {0, 1, 1}};
const Matrix kKey = {{0, 0, 1}, {1, 1, 0}, {0, 1, 0}, {1, 1, 0}};
const Matrix kValue = {{0, 2, 0}, {0, 3, 0}, {1, 0, 3}, {1, 1, 0}};

/// One score and one row of weights, one operation after the other.
void one_row(const Tensor& q, const Tensor& k) {
  const Matrix query = q;
  const Matrix key = k;
  std::printf("Step 3: The score of query 0 with key 2: ");
  double score = 0;
  for (index_t c = 0; c < 3; ++c) {
    score += query(0, c) * key(2, c);
    std::printf("%g * %g %s ", query(0, c), key(2, c), c < 2 ? "+" : "=");
  }
  std::printf("%g\n", score);
}

/// The part of each value in the result of token 0: weight times value, and their sum.
void mixture(const Tensor& weights, const Tensor& v) {
  std::printf("Step 6: What token 0 takes: weight times value\n");
  Tensor sum = zeros({3}, kFloat64);
  for (index_t j = 0; j < 3; ++j) {
    const Tensor part = weights.select(0, 0).select(0, j) * v.select(0, j);
    sum = sum + part;
    std::printf("%.4f times %s = %s\n", weights.select(0, 0).select(0, j).item(),
                to_string(v.select(0, j)).c_str(),
                to_string(part, {.precision = 4, .suppress = true}).c_str());
  }
  show("and their sum", sum);
}

void draw(const std::string& folder, const Tensor& weights, const Tensor& undivided) {
  const std::vector<std::string> tokens = {"0", "1", "2"};
  Picture picture = {.description =
                         "The weights of three queries and three keys, with scores "
                         "divided by sqrt(d), and with scores that are not",
                     .panels = {},
                     .square = 48,
                     .digits = 2};
  picture.panels = {{"scores / sqrt(3)", weights, "key", "query", tokens, tokens},
                    {"scores", undivided, "key", "query", tokens, tokens}};
  write_picture(folder, "002_head.svg", picture);
}

}  // namespace

int main(int argc, char** argv) {
  return run_example("002_one_head", argc, argv, "[FOLDER]", [&] {
    const Tensor x = kX;
    const Tensor q = matmul(x, kQuery);
    const Tensor k = matmul(x, kKey);
    const Tensor v = matmul(x, kValue);
    show("Step 1: Three tokens, D = 4", x);
    show("Step 2: Queries Q = x W_Q, d = 3", q);
    show("keys K = x W_K", k);
    show("values V = x W_V", v);
    one_row(q, k);
    const Tensor scores = matmul(q, k.t());
    show("All scores, Q K^T: one row per query, one column per key", scores);
    const Tensor scaled = scores / std::sqrt(3.0);
    show("Step 4: Divided by the square root of d", scaled);
    const Tensor weights = softmax(scaled);
    show("Step 5: Softmax of each row: the weights", weights);
    const Tensor undivided = softmax(scores);
    show("and if the scores had not been divided", undivided);
    mixture(weights, v);
    const Tensor output = matmul(weights, v);
    show("Step 7: All three outputs, weights times values", output);
    check_close("attention(q, k, v)", output, attention(q, k, v).output);
    if (argc > 1) draw(argv[1], weights, undivided);
  });
}
