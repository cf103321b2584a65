// The scores of lesson 002, one multiply-add at a time: the contents of three vector registers.
//
// 017_one_register.py runs this program under gdb and reads the actual registers; the page,
// 017_one_register.md, shows how.
#include <cstdio>

#include <tessera/tensor/ops/matmul.h>
#include "examples/course/by_hand.h"
#include "examples/course/example.h"

using namespace tessera;
using namespace tessera::examples;

namespace {

// Step 2 of lesson 002: one row for each of the three inputs.
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

}  // namespace

int main() {
  return run_example("017_one_register", [] {
    const Tensor scores = matmul(Tensor(kQueries), Tensor(kKeys).t());  // gdb stops in it
    show("Scores: q k^T", scores);
    check_close("matmul", sums_before(3), scores, 0);
    print_film();
  });
}
