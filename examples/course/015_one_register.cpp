// The scores of the first lesson, one multiply-add at a time: the contents of three vector
// registers.
//
//   015_one_register [FOLDER]     prints; draws FOLDER/015_registers.svg
//
// 015_one_register.py runs this program under gdb and reads the actual registers; the page,
// 015_one_register.md, shows how.
#include <array>
#include <cstdio>
#include <string>

#include "examples/course/by_hand.h"
#include "examples/course/example.h"
#include "examples/course/pictures.h"
#include "tensor/ops/matmul.h"

using namespace tessera;
using namespace tessera::examples;

namespace {

// Step 3 of the first lesson: one row for each of the three inputs.
const Matrix kQueries = {{1, 0, 2}, {2, 2, 2}, {2, 1, 3}};
const Matrix kKeys = {{0, 1, 1}, {4, 4, 0}, {2, 3, 1}};

/// The sums of all rows before step p: sums(i, j) = sum over s < p of q(i, s) k(j, s).
Matrix sums_before(index_t p) {
  Matrix sums(3, 3);
  for (index_t s = 0; s < p; ++s) {
    for (index_t i = 0; i < 3; ++i) {
      for (index_t j = 0; j < 3; ++j) sums(i, j) += kQueries(i, s) * kKeys(j, s);
    }
  }
  return sums;
}

void print_film() {
  std::printf("The registers of rows 0, 1 and 2\nat first:   [0 0 0] [0 0 0] [0 0 0]\n");
  for (index_t p = 0; p < 3; ++p) {
    std::printf("after p %td: ", p);
    const Matrix sums = sums_before(p + 1);
    for (index_t i = 0; i < 3; ++i) {
      std::printf(" [%g %g %g]", sums(i, 0), sums(i, 1), sums(i, 2));
    }
    std::printf("\n");
  }
}

constexpr double kLane = 22;  // pixels
constexpr int kLanes = 8;     // of a register of AVX-512

/// A register of eight doubles; the first three hold a column of C.
void draw_register(Drawing& drawing, double x, double y, const std::array<double, 3>& values,
                   const std::string& kind, bool has_our_lane) {
  for (int lane = 0; lane < kLanes; ++lane) {
    const double left = x + lane * kLane;
    const bool is_used = lane < 3;
    drawing.box(left, y, kLane, 24, has_our_lane && lane == 2 ? "d" : is_used ? kind : "f");
    const double value = is_used ? values[static_cast<std::size_t>(lane)] : 0;
    drawing.text(left + kLane / 2, y + 17, str_cat(value), is_used ? "" : "s");
  }
}

/// One column of the picture per step: a row of the panel above, the three registers below.
void draw(const std::string& folder) {
  Drawing drawing("The three registers after each step: the scores of the first lesson", 800, 250);
  for (index_t p = 0; p < 3; ++p) {
    const double x = 60 + 240 * static_cast<double>(p);
    drawing.text(x, 24, str_cat("p = ", p), "t i");
    drawing.text(x, 44, "row of the panel: k[0], k[1], k[2]", "s i");
    draw_register(drawing, x, 52, {kKeys(0, p), kKeys(1, p), kKeys(2, p)}, "b", false);
    drawing.text(x, 104, "the sums of rows 0, 1, 2 after it", "s i");
    const Matrix sums = sums_before(p + 1);
    for (index_t i = 0; i < 3; ++i) {
      const double y = 112 + 42 * static_cast<double>(i);
      drawing.box(x - 40, y, 24, 24, "a");
      drawing.text(x - 28, y + 17, str_cat(kQueries(i, p)));
      drawing.arrow(x - 14, y + 12, x - 2, y + 12);
      draw_register(drawing, x, y, {sums(i, 0), sums(i, 1), sums(i, 2)}, "c", i == 0);
    }
  }
  drawing.write(folder, "015_registers.svg");
}

}  // namespace

int main(int argc, char** argv) {
  return run_example("015_one_register", [&] {
    const Tensor scores = matmul(Tensor(kQueries), Tensor(kKeys).t());  // gdb stops in it
    show("Scores: q k^T", scores);
    check_close("matmul", sums_before(3), scores, 0);
    print_film();
    if (argc > 1) draw(argv[1]);
  });
}
