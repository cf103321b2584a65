#include "examples/course/exercises/check.h"

namespace tessera::exercises::checks {

const Matrix kQueries = {{1, 0, 2}, {2, 2, 2}, {2, 1, 3}};
const Matrix kKeys = {{0, 1, 1}, {4, 4, 0}, {2, 3, 1}};

void lanes_are_keys() {
  // Row 2 of the lesson after p = 1, and results of mistakes.
  expect_close(
      "register_after(q, k, 2, 1, 8)", register_after(kQueries, kKeys, 2, 1, 8),
      {{1, 12, 7, 0, 0, 0, 0, 0}},
      {{{{0, 8, 4, 0, 0, 0, 0, 0}}, "step p itself is missing"},
       {{{1, 4, 3, 0, 0, 0, 0, 0}}, "earlier steps are missing: the register adds them up"},
       {{{4, 6, 2, 0, 0, 0, 0, 0}}, "lane j is row j of k, not column j: k(j, s)"},
       {{{2, 16, 10, 0, 0, 0, 0, 0}}, "row i is row i of q, not column i: q(i, s)"},
       {{{4, 12, 10, 0, 0, 0, 0, 0}}, "these are the scores, after all steps"},
       {{{1, 12, 7, 1, 12, 7, 1, 12}},
        "lanes after the last key are 0, the padding of the panel"}});
  expect_close("register_after(q, k, 0, 2, 4)", register_after(kQueries, kKeys, 0, 2, 4),
               {{2, 4, 4, 0}});
}

void registers_are_full() {
  const auto expect_rows = [](index_t registers, index_t vectors, index_t wanted) {
    expect_close(
        str_cat("largest_rows(", registers, ", ", vectors, ")"), largest_rows(registers, vectors),
        wanted,
        {{registers / vectors, "a row of the panel and the copied element need registers too"},
         {(registers - 1) / vectors,
          "the panel's row needs `vectors` registers, and the copied element one more"},
         {registers - vectors - 1, "each row has `vectors` registers of sums"}});
  };
  expect_rows(16, 2, 6);   // AVX2: the library's tile
  expect_rows(32, 2, 14);  // AVX-512: the library's tile has 12
  expect_rows(16, 5, 2);
  expect_rows(8, 7, 0);
  expect_rows(2, 4, 0);
}

std::vector<Exercise> all_exercises() {
  return {
      {"017.1 register_after", "for each step s <= p and each key j, lane j grows by a product",
       lanes_are_keys},
      {"017.2 largest_rows", "rows * vectors + vectors + 1 registers must be there",
       registers_are_full},
  };
}

}  // namespace tessera::exercises::checks
