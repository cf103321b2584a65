// Mistakes that can be planted, and how the hint begins that each must get.
//
// early: step p itself is missing
// assign: earlier steps are missing
// column: lane j is row j of k
// turned: row i is row i of q
// all: these are the scores
// wrap: lanes after the last key are 0
// sums: a row of the panel and the copied element
// element: the panel's row needs `vectors` registers
// panel: the panel's row needs `vectors` registers
// one: each row has `vectors` registers
#include <algorithm>

#include "examples/course/exercises/015_one_register.h"
#include "tests/programs/mistakes/planted.h"

namespace tessera::exercises {

Matrix register_after(const Matrix& q, const Matrix& k, index_t i, index_t p, index_t lanes) {
  Matrix sums(1, lanes);
  const index_t last = planted("all") ? q.columns() - 1 : planted("early") ? p - 1 : p;
  for (index_t s = 0; s <= last; ++s) {
    for (index_t j = 0; j < (planted("wrap") ? lanes : k.rows()); ++j) {
      const index_t row = j % k.rows();
      const double element = planted("turned") ? q(s, i) : q(i, s);
      const double product = element * (planted("column") ? k(s, row) : k(row, s));
      sums(0, j) = planted("assign") ? product : sums(0, j) + product;
    }
  }
  return sums;
}

index_t largest_rows(index_t registers, index_t vectors) {
  if (planted("sums")) return registers / vectors;
  if (planted("element")) return (registers - vectors) / vectors;
  if (planted("panel")) return (registers - 1) / vectors;
  if (planted("one")) return registers - vectors - 1;
  return std::max<index_t>(0, (registers - vectors - 1) / vectors);
}

}  // namespace tessera::exercises
