// The ladder of C = A B, counted: each step of bench/matmul_ladder_steps.cpp runs as loops that
// only count the loads, stores and waits of the inner loop.
//
//   013_matmul_ladder [FOLDER]     prints; draws FOLDER/013_steps.svg
//
// The page next to this file, 013_matmul_ladder.md, converts the counts to times.
#include <algorithm>
#include <cstdio>
#include <string>
#include <vector>

#include "examples/course/example.h"
#include "examples/course/pictures.h"

using namespace tessera;
using namespace tessera::examples;

namespace {

/// A product of (m, k) by (k, n), vectors of `lanes` numbers, a tile of `rows` x `vectors` vectors.
struct Size {
  index_t m, n, k, lanes, rows, vectors;
  index_t panel() const { return lanes * vectors; }
};

/// The counts of a step: elements are marked, by their position in memory, up to multiply-add
/// `kShown`.
class Trace {
 public:
  static constexpr index_t kShown = 12;

  explicit Trace(const Size& size)
      : a(place(size.m * size.k)),
        b(place(size.k * size.n)),
        c(place(size.m * size.n)),
        last_(place(size.m * size.n), -1) {}

  void load(std::vector<bool>& matrix, index_t at, index_t lanes = 1) {
    ++loads;
    mark(matrix, at, lanes);
  }
  void store(std::vector<bool>& matrix, index_t at, index_t lanes = 1) {
    ++stores;
    mark(matrix, at, lanes);
  }
  /// An addition to the sum at `at` of C; counts the multiply-adds since the previous one.
  void multiply_add(index_t at, index_t lanes = 1) {
    mark(c, at, lanes);
    index_t& before = last_[place(at)];
    if (before >= 0) chains = std::min(chains, multiply_adds - before);
    before = multiply_adds++;
  }

  index_t loads = 0, stores = 0, multiply_adds = 0;
  index_t chains = 1 << 20;      // least distance of two additions to one sum
  std::vector<bool> a, b, c;     // the elements used by the first multiply-adds
  std::vector<index_t> corners;  // of tiles in C, in order

 private:
  static std::size_t place(index_t at) { return static_cast<std::size_t>(at); }
  void mark(std::vector<bool>& matrix, index_t at, index_t lanes) const {
    for (index_t l = 0; multiply_adds < kShown && l < lanes; ++l) matrix[place(at + l)] = true;
  }

  std::vector<index_t> last_;
};

void definition(const Size& s, Trace& t) {
  for (index_t i = 0; i < s.m; ++i) {
    for (index_t j = 0; j < s.n; ++j) {
      for (index_t k = 0; k < s.k; ++k) {
        t.load(t.a, i * s.k + k);
        t.load(t.b, k * s.n + j);
        t.multiply_add(i * s.n + j);
      }
      t.store(t.c, i * s.n + j);
    }
  }
}

/// Steps 1 and 2: j innermost, `lanes` numbers at a time.
void along_rows(const Size& s, Trace& t, index_t lanes) {
  for (index_t i = 0; i < s.m; ++i) {
    for (index_t k = 0; k < s.k; ++k) {
      t.load(t.a, i * s.k + k);
      for (index_t j = 0; j < s.n; j += lanes) {
        t.load(t.b, k * s.n + j, lanes);
        t.load(t.c, i * s.n + j, lanes);
        t.multiply_add(i * s.n + j, lanes);
        t.store(t.c, i * s.n + j, lanes);
      }
    }
  }
}

/// Step 3: the tile at (i, j). Row k of its columns of B is at `b` + k * `b_row`.
void tile(const Size& s, Trace& t, index_t i, index_t j, index_t b, index_t b_row) {
  t.corners.push_back(i * s.n + j);
  for (index_t k = 0; k < s.k; ++k) {
    for (index_t v = 0; v < s.vectors; ++v) t.load(t.b, b + k * b_row + v * s.lanes, s.lanes);
    for (index_t r = 0; r < s.rows; ++r) {
      t.load(t.a, (i + r) * s.k + k);
      for (index_t v = 0; v < s.vectors; ++v) {
        t.multiply_add((i + r) * s.n + j + v * s.lanes, s.lanes);
      }
    }
  }
  for (index_t r = 0; r < s.rows; ++r) {
    for (index_t v = 0; v < s.vectors; ++v) {
      t.store(t.c, (i + r) * s.n + j + v * s.lanes, s.lanes);
    }
  }
}

/// Steps 3 to 5: all tiles, `block` rows at a time; with B in place or in packed panels.
void tiles(const Size& s, Trace& t, index_t block, bool packed) {
  for (index_t top = 0; top < s.m; top += block) {
    for (index_t j = 0; j < s.n; j += s.panel()) {
      for (index_t i = top; i < top + block; i += s.rows) {
        if (packed) tile(s, t, i, j, j * s.k, s.panel());
        if (!packed) tile(s, t, i, j, j, s.n);
      }
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
    {"a tile of C in registers", 0, [](const Size& s, Trace& t) { tiles(s, t, s.m, false); }},
    {"B packed into panels", 0, [](const Size& s, Trace& t) { tiles(s, t, s.m, true); }},
    {"blocks for the caches", 0, [](const Size& s, Trace& t) { tiles(s, t, s.m / 2, true); }}};

/// The counts of the inner loops with AVX-512 and sums of 96 terms.
void print_counts() {
  const Size size = {96, 96, 96, 16, 12, 2};
  std::printf(
      "For each multiply-add of the inner loop, with vectors of 16 numbers and a tile of 12 x 2\n");
  std::printf("%-28s %8s %6s %7s %7s\n", "step", "numbers", "loads", "stores", "chains");
  for (std::size_t i = 0; i < kSteps.size(); ++i) {
    Trace trace(size);
    kSteps[i].run(size, trace);
    const auto each = [&](index_t count) {
      return static_cast<double>(count) / static_cast<double>(trace.multiply_adds);
    };
    std::printf("%zu %-26s %8td %6.2f %7.2f %7td\n", i, kSteps[i].idea,
                kSteps[i].numbers == 0 ? size.lanes : kSteps[i].numbers, each(trace.loads),
                each(trace.stores), trace.chains);
  }
}

constexpr int kCell = 7;  // pixels of an element

/// A matrix in memory order, `columns` numbers per row, with its used elements.
void draw_matrix(Drawing& drawing, double x, double y, const std::vector<bool>& touched,
                 index_t columns, const std::string& kind) {
  const auto count = static_cast<index_t>(touched.size());
  drawing.box(x, y, static_cast<double>(columns * kCell),
              static_cast<double>(count / columns * kCell));
  for (index_t at = 0; at < count; ++at) {
    if (!touched[static_cast<std::size_t>(at)]) continue;
    drawing.box(x + static_cast<double>(at % columns * kCell),
                y + static_cast<double>(at / columns * kCell), kCell, kCell, kind);
  }
}

/// A small product: the elements used by the first twelve multiply-adds, and the order of tiles.
void draw(const std::string& folder) {
  const Size size = {12, 16, 8, 4, 3, 2};
  Drawing drawing("The elements that the first twelve multiply-adds of each step touch", 690, 410);
  for (std::size_t i = 0; i < kSteps.size(); ++i) {
    Trace trace(size);
    kSteps[i].run(size, trace);
    const double x = 20 + static_cast<double>(i % 3) * 230;
    const double y = 30 + static_cast<double>(i / 3) * 200;
    drawing.text(x, y - 10, str_cat(i, ": ", kSteps[i].idea), "t i");
    const double left = x + static_cast<double>(size.k * kCell) + 12;
    const double top = y + static_cast<double>(size.k * kCell) + 12;
    draw_matrix(drawing, left, y, trace.b, size.n, "b");
    draw_matrix(drawing, x, top, trace.a, size.k, "a");
    draw_matrix(drawing, left, top, trace.c, size.n, "c");
    for (std::size_t n = 0; n < trace.corners.size(); ++n) {
      const index_t at = trace.corners[n];
      drawing.text(left + static_cast<double>((at % size.n + size.panel() / 2) * kCell),
                   top + static_cast<double>(at / size.n * kCell) + 15, str_cat(n + 1),
                   n == 0 ? "t" : "s");
    }
    drawing.text(x, y + 14, "B", "s i");
    drawing.text(x, top - 6, "A", "s i");
  }
  drawing.write(folder, "013_steps.svg");
}

}  // namespace

int main(int argc, char** argv) {
  return run_example("013_matmul_ladder", [&] {
    print_counts();
    if (argc > 1) draw(argv[1]);
  });
}
