// Ten steps from three inputs to the output of eight heads.
//
// The steps of 000 again, now with the shapes, a closer view of softmax, and the last two steps: a
// layer has several heads, each with its own projections, and concatenates their outputs:
//
//     MultiHead(x) = concat(head_1, ..., head_8) W_O  with  head_h = Attention(Q_h, K_h, V_h)
//
// Eight heads of 64 dimensions give the 512 of d_model, at the cost of one head with 512.
//
// Source: Vaswani et al., "Attention Is All You Need", 2017, sections 3.2.1 and 3.2.2.
#include <iostream>
#include <vector>

#include <tessera/nn/attention.h>
#include <tessera/tensor/create.h>
#include <tessera/tensor/ops/attention.h>
#include <tessera/tensor/ops/ops.h>
#include <tessera/tensor/print.h>
#include <tessera/tensor/random.h>
#include "examples/course/example.h"

using namespace tessera;

namespace {

void print_with_shape(const char* title, const Tensor& x) {
  std::cout << title << '\n' << x << '\n' << x.shape() << "\n\n";
}

/// softmax(x)_i = exp(x_i) / sum_j exp(x_j): positive numbers that add up to 1. The elements that
/// add up to 1 are a choice; attention takes the rows.
void softmax_side_note() {
  const Tensor some = tensor({{1, 0.5, 0.2, 3}, {1, -1, 7, 3}, {2, 12, 13, 3}}, kFloat64);

  Tensor m = softmax(some, {});
  std::cout << "(Side note: softmax over the whole array, and its sum)\n";
  std::cout << repr(m) << '\n' << sum(m) << '\n';

  m = softmax(some, {0});
  std::cout << "(Along axis 0: each column adds up to 1)\n";
  std::cout << repr(m) << '\n' << repr(sum(m, {0})) << '\n';

  m = softmax(some, {1});
  std::cout << "(Along axis 1: each row adds up to 1)\n";
  std::cout << repr(m) << '\n' << repr(sum(m, {1})) << "\n\n";
}

void one_head() {
  std::cout << "Step 1: Input: 3 inputs, d_model=4\n";
  const Tensor x = tensor({{1, 0, 1, 0}, {0, 2, 0, 2}, {1, 1, 1, 1}}, kFloat64);
  std::cout << x.shape() << "\n\n";

  std::cout << "Step 2: weights 3 dimensions x d_model=4\n";
  const Tensor w_query = tensor({{1, 0, 1}, {1, 0, 0}, {0, 0, 1}, {0, 1, 1}});
  const Tensor w_key = tensor({{0, 0, 1}, {1, 1, 0}, {0, 1, 0}, {1, 1, 0}});
  const Tensor w_value = tensor({{0, 2, 0}, {0, 3, 0}, {1, 0, 3}, {1, 1, 0}});
  std::cout << "w_query\n" << w_query.shape() << '\n';
  std::cout << "w_key\n" << w_key.shape() << '\n';
  std::cout << "w_value\n" << w_value.shape() << "\n\n";

  // (tokens, d_model) times (d_model, d_k): one row of 3 for each token.
  std::cout << "Step 3: Matrix multiplication to obtain Q, K, V\n";
  const Tensor q = matmul(x, w_query);
  const Tensor k = matmul(x, w_key);
  const Tensor v = matmul(x, w_value);
  print_with_shape("Queries: x * w_query", q);
  print_with_shape("Keys: x * w_key", k);
  print_with_shape("Values: x * w_value", v);

  // (tokens, d_k) times (d_k, tokens): a score for each pair of tokens.
  const double k_d = 1;  // the square root of 3, rounded down to keep the numbers whole
  const Tensor scores = matmul(q, k.t()) / k_d;
  print_with_shape("Step 4: Scaled attention scores", scores);

  softmax_side_note();

  // Scores that differ by 12 become weights that differ by a factor e^12, about 160,000: in the
  // second row softmax selects nearly one element. The sums are 1, exactly or except for the last
  // bit.
  std::cout << "Step 5: Softmax of the scores for each vector, and the sums of the rows\n";
  const Tensor weights = softmax(scores);
  for (index_t row = 0; row < 3; ++row) std::cout << weights.select(0, row) << '\n';
  for (index_t row = 0; row < 3; ++row) std::cout << sum(weights.select(0, row)) << '\n';

  std::cout << "\nStep 6: Attention values: what input 1 takes of each value\n";
  for (index_t row = 0; row < 3; ++row) std::cout << v.select(0, row) << '\n';
  const Tensor first = weights.select(0, 0);
  const Tensor attention1 = first.select(0, 0) * v.select(0, 0);
  const Tensor attention2 = first.select(0, 1) * v.select(0, 1);
  const Tensor attention3 = first.select(0, 2) * v.select(0, 2);
  std::cout << "Attention 1\n" << attention1 << '\n';
  std::cout << "Attention 2\n" << attention2 << '\n';
  std::cout << "Attention 3\n" << attention3 << "\n\n";

  std::cout << "Step 7: The sum is the first line of the output matrix\n";
  std::cout << attention1 + attention2 + attention3 << '\n';
  std::cout << "and attention(q, k, v) gives all of its lines\n";
  std::cout << attention(q, k, v, {}, {.scale = 1 / k_d}).output << "\n\n";
}

/// In the paper's sizes. Training would give the heads a meaning; here they are random.
void eight_heads() {
  std::cout << "Step 8: The result of steps 1 to 7 for one head of 64 dimensions\n";
  manual_seed(8);
  const Tensor attention_head1 = rand({3, 64}, kFloat64);
  std::cout << attention_head1 << "\n\n";

  std::cout << "Step 9: The 8 heads of the attention sub-layer\n";
  std::vector<Tensor> heads;
  for (int head = 0; head < 8; ++head) heads.push_back(rand({3, 64}, kFloat64));
  std::cout << "shape of one head " << heads[0].shape() << " dimension of 8 heads " << 64 * 8
            << "\n\n";

  std::cout
      << "Step 10: Concatenation of heads 1 to 8 gives the 8x64=512 dimensions of the model\n";
  const Tensor output = concat(heads, 1);
  std::cout << output << '\n' << output.shape() << "\n\n";

  // A model computes all heads as one tensor (batch, heads, tokens, 64) and concatenates them by
  // reordering its axes.
  std::cout << "The same by nn::merge_heads\n";
  std::cout << nn::merge_heads(stack(heads).unsqueeze(0)).squeeze(0) << '\n';
}

}  // namespace

int main() {
  return examples::run_example("001_ten_steps", [] {
    one_head();
    eight_heads();
  });
}
