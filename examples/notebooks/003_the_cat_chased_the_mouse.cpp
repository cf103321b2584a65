// Self-attention on a sentence: "The cat chased the mouse".
//
//     Q = x W_Q,  K = x W_K,  V = x W_V,   output = softmax(Q K^T / sqrt(d_k)) V
//
// First only the shapes, in a size that models use: see which axis is multiplied by which. Then
// five words with four dimensions each; the result of every word is a mixture of all five. With
// random weights the mixture is nearly even; training gives "chased" large weights for the two
// animals.
//
// Source: Vaswani et al., "Attention Is All You Need", 2017, section 3.2.1.
#include <cmath>
#include <iostream>
#include <string>
#include <vector>

#include <tessera/tensor/create.h>
#include <tessera/tensor/ops/attention.h>
#include <tessera/tensor/ops/ops.h>
#include <tessera/tensor/print.h>
#include <tessera/tensor/random.h>
#include "examples/course/example.h"

using namespace tessera;

namespace {

void walk_through_shapes() {
  constexpr index_t kTokens = 10;
  constexpr index_t kEmbedding = 64;
  constexpr index_t kKeys = 64;  // d_k, the width of queries and keys

  manual_seed(0);
  const Tensor x = rand({kTokens, kEmbedding}, kFloat64);
  const Tensor queries = matmul(x, rand({kEmbedding, kKeys}, kFloat64));
  const Tensor keys = matmul(x, rand({kEmbedding, kKeys}, kFloat64));
  const Tensor values = matmul(x, rand({kEmbedding, kKeys}, kFloat64));
  const Tensor scores = matmul(queries, keys.t()) / std::sqrt(64.0);
  const Tensor weights = softmax(scores);
  const Tensor output = matmul(weights, values);

  std::cout << "Queries shape: " << queries.shape() << '\n';
  std::cout << "Keys shape: " << keys.shape() << '\n';
  std::cout << "Values shape: " << values.shape() << '\n';
  std::cout << "Attention scores shape: " << scores.shape() << '\n';
  std::cout << "Attention weights shape: " << weights.shape() << '\n';
  std::cout << "Output shape: " << output.shape() << "\n\n";
}

/// Row i of x with four digits, as PyTorch prints.
std::string row(const Tensor& x, index_t i) {
  return to_string(x.select(0, i), {.precision = 4});
}

void attend_to_a_sentence() {
  const std::vector<std::string> words = {"The", "cat", "chased", "the", "mouse"};
  const Tensor x = tensor({{0.5488135, 0.71518937, 0.60276338, 0.54488318},
                           {0.4236548, 0.64589411, 0.43758721, 0.891773},
                           {0.96366276, 0.38344152, 0.79172504, 0.52889492},
                           {0.56804456, 0.92559664, 0.07103606, 0.0871293},
                           {0.0202184, 0.83261985, 0.77815675, 0.87001215}},
                          kFloat64);
  const index_t count = x.size(0);
  const auto word = [&](index_t i) { return words[static_cast<std::size_t>(i)]; };

  std::cout << "Word Embeddings:\n";
  for (index_t i = 0; i < count; ++i) std::cout << word(i) << ": " << row(x, i) << '\n';

  // The notebook draws its weights without a seed and does not print them. These were computed to
  // give every query, key and value that it prints.
  const Tensor w_query = tensor({{0.48072, 0.75783, 0.09787, 0.32788},
                                 {0.34346, 0.77424, 0.23813, 0.94661},
                                 {0.97482, 0.12633, 0.52015, 0.02059},
                                 {0.83278, 0.05954, 0.77783, 0.7347}},
                                kFloat64);
  const Tensor w_key = tensor({{0.39425, 0.0263, 0.33325, 0.24782},
                               {0.82203, 0.11588, 0.20945, 0.69534},
                               {0.68562, 0.98761, 0.60024, 0.01877},
                               {0.36033, 0.10924, 0.05032, 0.60896}},
                              kFloat64);
  const Tensor w_value = tensor({{0.1899, 0.2708, 0.2481, 0.6742},
                                 {0.9074, 0.2708, 0.0867, 0.4333},
                                 {0.7368, 0.1512, 0.5244, 0.8585},
                                 {0.0984, 0.3301, 0.2363, 0.119}},
                                kFloat64);
  const Tensor queries = matmul(x, w_query);
  const Tensor keys = matmul(x, w_key);
  const Tensor values = matmul(x, w_value);
  std::cout << "\nQueries, Keys, and Values:\n";
  for (index_t i = 0; i < count; ++i) {
    std::cout << word(i) << " - Query: " << row(queries, i) << ", Key: " << row(keys, i)
              << ", Value: " << row(values, i) << '\n';
  }

  const Tensor scores = matmul(queries, keys.t());  // (5, 5): each query with each key
  const Tensor weights = softmax(scores / std::sqrt(4.0));
  std::cout << "\nAttention Weights (focus on each word):\n";
  for (index_t i = 0; i < count; ++i) std::cout << word(i) << ": " << row(weights, i) << '\n';

  const Tensor output = matmul(weights, values);
  std::cout << "\nOutput Embeddings (contextualized representation of each word):\n";
  for (index_t i = 0; i < count; ++i) std::cout << word(i) << ": " << row(output, i) << '\n';

  // Scores, scale, softmax and mixture in one call, which is also fast.
  const Tensor fused = attention(queries, keys, values).output;
  std::cout << "\nThe same by attention(queries, keys, values):\n";
  for (index_t i = 0; i < count; ++i) std::cout << word(i) << ": " << row(fused, i) << '\n';
}

}  // namespace

int main() {
  return examples::run_example("003_the_cat_chased_the_mouse", [] {
    walk_through_shapes();
    attend_to_a_sentence();
  });
}
