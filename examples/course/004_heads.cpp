// Several heads, and W^O.
//
//     MultiHead(x) = concat(head_0, head_1, ...) W^O  =  head_0 W^O_0 + head_1 W^O_1 + ...
//
// A head has one pattern of attention. This sentence needs two: the same word, and the previous
// word. Two heads of width D / H show both, one head of width D only their sum. Both cost the same
// multiplications.
//
//   004_heads [FOLDER]     prints; draws FOLDER/004_heads.svg
//
// Source: Vaswani et al., "Attention Is All You Need", 2017, section 3.2.2; Elhage et al., "A
// Mathematical Framework for Transformer Circuits", 2021, for the sum.
#include <cmath>
#include <cstdio>

#include <tessera/nn/attention.h>
#include <tessera/tensor/ops/ops.h>
#include "examples/course/by_hand.h"
#include "examples/course/example.h"
#include "examples/course/pictures.h"

using namespace tessera;
using namespace tessera::examples;

namespace {

constexpr index_t kHeads = 2;
const std::vector<std::string> kWords = {"the", "cat", "the", "dog"};

// A word's columns: it is "the", it is a noun, and its position, a point (cos, sin) on the unit
// circle, a quarter further per position.
const Matrix kX = {{1, 0, 1, 0}, {0, 1, 0, 1}, {1, 0, -1, 0}, {0, 1, 0, -1}};

// Columns 0 and 1 of each projection belong to head 0, columns 2 and 3 to head 1.
const Matrix kQuery = {{4, 0, 0, 0}, {0, 4, 0, 0}, {0, 0, 0, -4}, {0, 0, 4, 0}};  // a quarter back
const Matrix kKey = {{1, 0, 0, 0}, {0, 1, 0, 0}, {0, 0, 1, 0}, {0, 0, 0, 1}};
// The values of both heads are the word, not its position.
const Matrix kValue = {{1, 0, 1, 0}, {0, 1, 0, 1}, {0, 0, 0, 0}, {0, 0, 0, 0}};
const Matrix kOutput = {{1, 0, 1, 0}, {0, 1, 0, 1}, {0, 0, 1, 0}, {0, 0, 0, -1}};

/// softmax(q k^T / sqrt(d)) of (T, d).
Tensor weights_of(const Tensor& q, const Tensor& k) {
  return softmax(matmul(q, k.t()) / std::sqrt(static_cast<double>(q.size(-1))));
}

/// Columns [h d, (h + 1) d): a view, which shares the elements of x.
Tensor head_of(const Tensor& x, index_t h) {
  return x.chunk(kHeads, -1)[static_cast<std::size_t>(h)];
}

/// The library's module with these weights: one matrix for three projections, each transposed.
Matrix of_the_library(const Tensor& x) {
  nn::MultiHeadAttention module({.embed_dim = 4, .num_heads = kHeads, .bias = false});
  module.in_proj_weight = concat({Tensor(kQuery).t(), Tensor(kKey).t(), Tensor(kValue).t()});
  module.out_proj.weight = Tensor(kOutput).t();
  return module(x.unsqueeze(0)).output.squeeze(0);
}

void draw(const std::string& folder, const std::vector<Tensor>& weights) {
  Picture picture = {.description = "The weights of head 0, of head 1, and of one head of width 4",
                     .panels = {},
                     .square = 40,
                     .digits = 2};
  const char* titles[] = {"head 0", "head 1", "one head, d = 4"};
  for (std::size_t i = 0; i < weights.size(); ++i) {
    picture.panels.push_back({titles[i], weights[i], "key", "query", kWords, kWords});
  }
  write_picture(folder, "004_heads.svg", picture);
}

}  // namespace

int main(int argc, char** argv) {
  return run_example("004_heads", argc, argv, "[FOLDER]", [&] {
    const Tensor x = kX;
    const Tensor q = matmul(x, kQuery);
    const Tensor k = matmul(x, kKey);
    const Tensor v = matmul(x, kValue);
    show("Step 1: \"the cat the dog\", D = 4", x);
    show("Step 2: Queries of both heads, one matrix product", q);
    show("Head 1's are columns 2 and 3, a view", head_of(q, 1));
    require(head_of(q, 1).untyped_data() == static_cast<const double*>(q.untyped_data()) + 2,
            "004_heads", "a head must share the elements of the projection");

    std::vector<Tensor> weights;
    std::vector<Tensor> heads;
    for (index_t h = 0; h < kHeads; ++h) {
      weights.push_back(weights_of(head_of(q, h), head_of(k, h)));
      heads.push_back(matmul(weights.back(), head_of(v, h)));
    }
    show("Step 3: The weights of head 0: the same word", weights[0]);
    show("The weights of head 1: the word before", weights[1]);
    weights.push_back(weights_of(q, k));
    show("Step 4: One head of width 4, with the same queries and keys", weights[2]);

    const Tensor concatenated = concat(heads, 1);
    show("Step 5: The heads' outputs next to each other", concatenated);
    const Tensor output = matmul(concatenated, kOutput);
    show("times W^O", output);

    Tensor sum = zeros({4, 4}, kFloat64);
    for (std::size_t h = 0; h < heads.size(); ++h) {
      const Tensor part = matmul(heads[h], Tensor(kOutput).chunk(kHeads, 0)[h]);
      show(str_cat(h == 0 ? "Step 6: " : "", "What head ", h, " adds: head times its rows of W^O"),
           part);
      sum = sum + part;
    }
    check_close("concatenated and summed", output, sum);
    check_close("nn::MultiHeadAttention", output, of_the_library(x));
    if (argc > 1) draw(argv[1], weights);
  });
}
