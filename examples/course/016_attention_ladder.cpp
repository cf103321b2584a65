// The ladder of attention: the scores in memory at one time, and a softmax computed in parts.
//
// bench/attention_ladder_*.h have the steps; the page next to this file, 016_attention_ladder.md,
// derives times from them.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <vector>

#include <tessera/tensor/ops/attention.h>
#include "examples/course/by_hand.h"
#include "examples/course/example.h"

using namespace tessera;
using namespace tessera::examples;

namespace {

void print_memory() {
  constexpr index_t kTokens = 512, kKeys = 128, kQueries = 64;
  const auto print = [](const char* step, index_t scores) {
    std::printf("%-38s %6td KiB\n", step, scores * static_cast<index_t>(sizeof(float)) / 1024);
  };
  std::printf("Scores and weights in memory, T = %td\n", kTokens);
  print("step 0: S and its softmax", 2 * kTokens * kTokens);
  print("steps 1, 2: a row", kTokens);
  print("from step 3 on: 128 keys by 64 queries", kKeys * kQueries);
}

// One query of width 1, six keys in tiles of two: exp of the scores is 1 2 | 4 1 | 2 6.
const std::vector<double> kExponentials = {1, 2, 4, 1, 2, 6};
const std::vector<double> kValues = {1, 2, 3, 4, 5, 6};

void print_running_softmax() {
  std::printf("\nA softmax in three tiles: m, exp(m), the factor of older terms, l, O\n");
  double m = -INFINITY, l = 0, o = 0;
  for (std::size_t tile = 0; tile < 3; ++tile) {
    const double before = m;
    for (std::size_t j = 2 * tile; j < 2 * tile + 2; ++j)
      m = std::max(m, std::log(kExponentials[j]));
    const double factor = std::exp(before - m);
    l *= factor;
    o *= factor;
    for (std::size_t j = 2 * tile; j < 2 * tile + 2; ++j) {
      const double weight = std::exp(std::log(kExponentials[j]) - m);
      l += weight;
      o += weight * kValues[j];
    }
    std::printf("tile %zu: %.4f %.4f %.4f %.4f %.4f\n", tile, m, std::exp(m), factor, l, o);
  }
  Matrix query = {{1}}, keys(6, 1), values(6, 1);
  for (index_t j = 0; j < 6; ++j) {
    keys(j, 0) = std::log(kExponentials[static_cast<std::size_t>(j)]);
    values(j, 0) = kValues[static_cast<std::size_t>(j)];
  }
  const Tensor whole = attention(Tensor(query), Tensor(keys), Tensor(values)).output;
  std::printf("O / l = %.4f, attention(q, k, v) = %.4f\n", o / l, Matrix(whole)(0, 0));
}

}  // namespace

int main() {
  return run_example("016_attention_ladder", [] {
    print_memory();
    print_running_softmax();
  });
}
