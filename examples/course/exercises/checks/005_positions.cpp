#include <tessera/nn/relative_position.h>
#include <tessera/nn/rotary.h>
#include "examples/course/exercises/check.h"

namespace tessera::exercises::checks {

/// The row with sines and cosines exchanged.
Matrix exchanged(Matrix row) {
  for (index_t j = 0; j < row.columns(); j += 2) std::swap(row(0, j), row(0, j + 1));
  return row;
}

/// The row if the frequency of every pair is 1.
Matrix moved_alike(Matrix row, index_t distance) {
  const double sine = std::sin(distance), cosine = std::cos(distance);
  for (index_t j = 0; j < row.columns(); j += 2) {
    const double a = row(0, j), b = row(0, j + 1);
    row(0, j) = a * cosine + b * sine;
    row(0, j + 1) = b * cosine - a * sine;
  }
  return row;
}

void the_row_moves() {
  const Tensor table = sinusoidal_positions(60, 8, kFloat64);
  const auto row = [&](index_t position) { return table.slice(0, position, position + 1); };
  expect_close("the row of position 0, moved by 0", moved(row(0), 0), row(0),
               {{exchanged(row(0)), "sine and cosine are exchanged: column 2k is the sine"}});
  for (const index_t position : {3, 0, 50}) {
    for (const index_t distance : {1, 5, -3}) {
      if (position + distance < 0) continue;
      expect_close(str_cat("the row of position ", position, ", moved by ", distance),
                   moved(row(position), distance), row(position + distance),
                   {{row(std::max<index_t>(position - distance, 0)),
                     "the pairs rotate backwards: b is added to the angle a, not subtracted"},
                    {moved_alike(row(position), distance),
                     "all pairs rotate alike: 2k / D of integers loses its fraction"}});
    }
  }
}

void pairs_turn() {
  const double cosine = std::cos(1), sine = std::sin(1);
  expect_close(
      "rotated_interleaved of {{1, 0, 0, 0}, {1, 0, 0, 0}}",
      rotated_interleaved({{1, 0, 0, 0}, {1, 0, 0, 0}}), {{1, 0, 0, 0}, {cosine, sine, 0, 0}},
      {{{{1, 0, 0, 0}, {cosine, -sine, 0, 0}}, "the pair rotates backwards: b gains a sin t"},
       {{{1, 0, 0, 0}, {cosine, cosine * sine, 0, 0}},
        "b is computed from the new a: keep the old pair first"},
       {{{1, 0, 0, 0}, {cosine, 0, sine, 0}},
        "a pair is columns 2k and 2k + 1, not k and k + D / 2"},
       {{{cosine, sine, 0, 0}, {std::cos(2), std::sin(2), 0, 0}},
        "row 0 is at position 0, where nothing is rotated"}});
  const Tensor x = randn({20, 8}, kFloat64);
  const nn::Rotary rotary({.interleaved = true}, 8);  // rounds angles to float32
  expect_close("rotated_interleaved", rotated_interleaved(x), rotary(x.reshape({1, 20, 1, 8})), {},
               1e-5);
}

void distances_are_subtracted() {
  expect_close("alibi(2, 0, 8)", alibi(2, 0, 8), {{0, -0.5}, {-0.5, 0}},
               {{{{0, 0.5}, {0.5, 0}}, "far keys must get less: the bias is negative"},
                {{{0, -1}, {-1, 0}}, "heads are counted from 0: the exponent has head + 1"},
                {{{0, 0.5}, {-0.5, 0}}, "the distance is |i - j|, never negative"}});
  expect_close("alibi(2, 0, 16)", alibi(2, 0, 16), {{0, -std::sqrt(0.5)}, {-std::sqrt(0.5), 0}},
               {{{{0, -1}, {-1, 0}}, "8 (head + 1) / heads of integers loses its fraction"}}, 1e-6);
  const Tensor biases = nn::Alibi(4)(7, 7);
  for (index_t head = 0; head < 4; ++head) {
    expect_close(str_cat("alibi(7, ", head, ", 4)"), alibi(7, head, 4), biases.select(0, head), {},
                 1e-6);
  }
}

std::vector<Exercise> all_exercises() {
  return {
      {"005.1 moved", "the angle to add to pair k is distance * f_k; column 2k is the sine",
       the_row_moves},
      {"005.2 rotated_interleaved", "both new numbers need both old ones: keep a and b first",
       pairs_turn},
      {"005.3 alibi", "the first head has the steepest slope, 2^(-8 / heads)",
       distances_are_subtracted},
  };
}

}  // namespace tessera::exercises::checks
