// The ladder of C = A B, counted: each step of bench/matmul_ladder_steps.cpp runs as loops that
// only count the loads, stores and waits of the inner loop.
//
// The page next to this file, 015_matmul_ladder.md, converts the counts to times.
#include <algorithm>
#include <cstdio>
#include <vector>

#include <tessera/tensor/kernels/types.h>
#include "examples/course/example.h"

using namespace tessera;
using namespace tessera::examples;

namespace {

/// A product of (m, k) by (k, n), vectors of `lanes` numbers, a tile of `rows` x `vectors` vectors.
struct Size {
  index_t m, n, k, lanes, rows, vectors;
};

/// The counts of a step.
struct Trace {
  explicit Trace(const Size& size) : last(static_cast<std::size_t>(size.m * size.n), -1) {}

  /// An addition to the sum at `at` of C; counts the multiply-adds since the previous one.
  void multiply_add(index_t at) {
    index_t& before = last[static_cast<std::size_t>(at)];
    if (before >= 0) chains = std::min(chains, multiply_adds - before);
    before = multiply_adds++;
  }

  index_t loads = 0, stores = 0, multiply_adds = 0;
  index_t chains = 1 << 20;   // least distance of two additions to one sum
  std::vector<index_t> last;  // the last multiply-add of each sum
};

void definition(const Size& s, Trace& t) {
  for (index_t i = 0; i < s.m; ++i) {
    for (index_t j = 0; j < s.n; ++j) {
      for (index_t k = 0; k < s.k; ++k) {
        t.loads += 2;  // A[i][k], B[k][j]
        t.multiply_add(i * s.n + j);
      }
      ++t.stores;
    }
  }
}

/// Steps 1 and 2: j innermost, `lanes` numbers at a time.
void along_rows(const Size& s, Trace& t, index_t lanes) {
  for (index_t i = 0; i < s.m; ++i) {
    for (index_t k = 0; k < s.k; ++k) {
      ++t.loads;  // A[i][k]
      for (index_t j = 0; j < s.n; j += lanes) {
        t.loads += 2;  // of B and of C
        t.multiply_add(i * s.n + j);
        ++t.stores;
      }
    }
  }
}

/// Step 3: the tile at (i, j).
void tile(const Size& s, Trace& t, index_t i, index_t j) {
  for (index_t k = 0; k < s.k; ++k) {
    t.loads += s.vectors;  // a row of the panel
    for (index_t r = 0; r < s.rows; ++r) {
      ++t.loads;  // A[i + r][k]
      for (index_t v = 0; v < s.vectors; ++v) t.multiply_add((i + r) * s.n + j + v * s.lanes);
    }
  }
  t.stores += s.rows * s.vectors;
}

/// Steps 3 to 5: all tiles, `block` rows at a time. Packed panels change only the addresses of B.
void tiles(const Size& s, Trace& t, index_t block) {
  for (index_t top = 0; top < s.m; top += block) {
    for (index_t j = 0; j < s.n; j += s.lanes * s.vectors) {
      for (index_t i = top; i < top + block; i += s.rows) tile(s, t, i, j);
    }
  }
}

struct Step {
  const char* idea;
  index_t numbers;  // in a multiply-add; 0: a vector
  void (*run)(const Size&, Trace&);
};

const std::vector<Step> kSteps = {
    {"the definition: i, j, k", 1, definition},
    {"j innermost", 1, [](const Size& s, Trace& t) { along_rows(s, t, 1); }},
    {"vectors along j", 0, [](const Size& s, Trace& t) { along_rows(s, t, s.lanes); }},
    {"a tile of C in registers", 0, [](const Size& s, Trace& t) { tiles(s, t, s.m); }},
    {"B packed into panels", 0, [](const Size& s, Trace& t) { tiles(s, t, s.m); }},
    {"blocks for the caches", 0, [](const Size& s, Trace& t) { tiles(s, t, s.m / 2); }}};

/// The counts of the inner loops with AVX-512 and sums of 96 terms.
void print_counts() {
  const Size size = {96, 96, 96, 16, 12, 2};
  std::printf(
      "For each multiply-add of the inner loop, with vectors of 16 numbers and a tile of 12 x 2\n");
  std::printf("%-28s %8s %6s %7s %5s\n", "step", "width", "loads", "stores", "sums");
  for (std::size_t i = 0; i < kSteps.size(); ++i) {
    Trace trace(size);
    kSteps[i].run(size, trace);
    const auto each = [&](index_t count) {
      return static_cast<double>(count) / static_cast<double>(trace.multiply_adds);
    };
    std::printf("%zu %-26s %8td %6.2f %7.2f %5td\n", i, kSteps[i].idea,
                kSteps[i].numbers == 0 ? size.lanes : kSteps[i].numbers, each(trace.loads),
                each(trace.stores), trace.chains);
  }
}

}  // namespace

int main() {
  return run_example("015_matmul_ladder", print_counts);
}
