// The ladder of attention: the scores in memory at one time, and a softmax computed in parts.
//
//   014_attention_ladder [FOLDER]     prints; draws FOLDER/014_scores.svg
//
// bench/attention_ladder_*.h have the steps; the page next to this file, 014_attention_ladder.md,
// derives times from them.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include "examples/course/by_hand.h"
#include "examples/course/example.h"
#include "examples/course/pictures.h"
#include "tensor/ops/attention.h"

using namespace tessera;
using namespace tessera::examples;

namespace {

/// Rows (queries) and columns (keys) of S.
struct Block {
  index_t query, key, queries, keys;
};

/// The scores that a step keeps in memory, and those that its inner loop computes at one time.
struct Step {
  const char* idea;
  Block kept, made;
};

/// For T = 16, in the middle of the computation: tiles of 8 keys by 8 queries, registers of 4
/// lanes.
const std::vector<Step> kSteps = {{"0: the definition", {0, 0, 16, 16}, {8, 5, 1, 1}},
                                  {"1, 2: one query at a time", {8, 0, 1, 16}, {8, 5, 1, 1}},
                                  {"3: tiles", {8, 0, 8, 8}, {8, 5, 8, 1}},
                                  {"4: register tiles", {8, 0, 8, 8}, {8, 4, 8, 2}},
                                  {"5: exponentials", {8, 0, 8, 8}, {8, 4, 4, 4}}};

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

/// One square of S per score: green in memory, violet in the inner loop.
void draw(const std::string& folder) {
  constexpr double kCell = 9;
  constexpr index_t kTokens = 16;
  Drawing drawing("The scores that each step keeps in memory and makes at a time", 660, 420);
  for (std::size_t n = 0; n < kSteps.size(); ++n) {
    const double x = 40 + static_cast<double>(n % 3) * 210;
    const double y = 60 + static_cast<double>(n / 3) * 200;
    drawing.text(x, y - 26, kSteps[n].idea, "t i");
    drawing.text(x + 72, y - 8, "keys", "s");
    drawing.text(x - 6, y + 12, "q", "s");
    drawing.box(x, y, kTokens * kCell, kTokens * kCell);
    const auto fill = [&](const Block& block, const char* kind) {
      for (index_t i = block.query; i < block.query + block.queries; ++i) {
        for (index_t j = block.key; j < block.key + block.keys; ++j) {
          drawing.box(x + static_cast<double>(j) * kCell, y + static_cast<double>(i) * kCell, kCell,
                      kCell, kind);
        }
      }
    };
    fill(kSteps[n].kept, "c");
    fill(kSteps[n].made, "d");
  }
  drawing.box(466, 270, 14, 14, "c");
  drawing.text(488, 282, "in memory", "s i");
  drawing.box(466, 296, 14, 14, "d");
  drawing.text(488, 308, "in the inner loop", "s i");
  drawing.write(folder, "014_scores.svg");
}

}  // namespace

int main(int argc, char** argv) {
  return run_example("014_attention_ladder", [&] {
    print_memory();
    print_running_softmax();
    if (argc > 1) draw(argv[1]);
  });
}
