#include <array>

#include "examples/course/exercises/check.h"

namespace tessera::exercises::checks {

void order_matters() {
  const auto [a, b, c] = three_numbers();
  const std::string numbers = str_cat("three_numbers: ", a, ", ", b, ", ", c);
  expect(std::isfinite(a) && std::isfinite(b) && std::isfinite(c), numbers + ": must be finite");
  const float left = a + b;
  const float right = b + c;
  const float first = left + c;
  const float second = a + right;
  const std::string sums = str_cat(numbers, ": sums must differ, got ", first, " and ", second);
  expect(std::isfinite(first) && std::isfinite(second), sums,
         "a sum overflows: infinity and NaN do not count");
  std::array<float, 3> sorted = {a, b, c};
  std::sort(sorted.begin(), sorted.end());
  expect(first != second || sorted != std::array<float, 3>{0.1F, 0.2F, 0.3F}, sums,
         "the orders differ in float64, but not in float32");
  expect(first != second, sums,
         "both orders give the same; one number must be so large that another is lost");
}

std::vector<float> random_numbers(index_t count) {
  return uniform(-1, 1, {count}).to_vector<float>();
}

constexpr float kHeld = 7;  // the initial contents of chunks
constexpr index_t kCount = 6;

/// The sums of kCount chunks of x: `start`, then in order the elements from begin(c) to before
/// end(c).
template <class Number, class Begin, class End>
Matrix sums_of(const std::vector<float>& x, Number start, const Begin& begin, const End& end) {
  return matrix_of(1, kCount, [&](index_t, index_t c) {
    Number sum = start;
    for (index_t i = begin(c); i < std::min(end(c), std::ssize(x)); ++i) {
      sum += x[static_cast<std::size_t>(i)];
    }
    return static_cast<double>(static_cast<float>(sum));
  });
}

/// The results of all parts, computed one after the other.
Matrix by_parts(const std::vector<float>& x, std::size_t parts) {
  Matrix chunks(1, kCount);
  for (std::size_t part = 0; part < parts; ++part) {
    std::vector<float> written(kCount, kHeld);
    sum_chunks(x, part, parts, written);
    const std::size_t count = written.size();
    for (std::size_t c = 0; c < count; ++c) {
      const bool is_mine = count * part / parts <= c && c < count * (part + 1) / parts;
      expect(is_mine || written[c] == kHeld,
             str_cat("sum_chunks: part ", part, " of ", parts, ": chunk ", c, " must be ", kHeld,
                     ", got ", written[c]),
             "a part writes only its own chunks; the others belong to other threads");
      expect(!is_mine || c + 1 < count || written[c] != kHeld,
             str_cat("sum_chunks: chunk ", c, " must be a sum, got what it held"),
             "the last chunk, which is shorter, is missing");
      if (is_mine) chunks(0, static_cast<index_t>(c)) = written[c];
    }
  }
  return chunks;
}

void chunks_do_not_depend_on_parts() {
  const std::vector<float> x = random_numbers(5 * kChunk + 7);
  constexpr index_t kLength = kChunk;
  const auto begin = [](index_t c) { return c * kLength; };
  const auto end = [](index_t c) { return (c + 1) * kLength; };
  const auto after_begin = [](index_t c) { return c * kLength + 1; };
  const auto after_end = [](index_t c) { return (c + 1) * kLength + 1; };
  const auto equal_begin = [&](index_t c) { return std::ssize(x) * c / kCount; };
  const auto equal_end = [&](index_t c) { return std::ssize(x) * (c + 1) / kCount; };
  for (const std::size_t parts : {1U, 2U, 3U, 8U}) {
    expect_close(
        str_cat("sum_chunks in ", parts, " parts"), by_parts(x, parts),
        sums_of(x, 0.0F, begin, end),
        {{sums_of(x, kHeld, begin, end), "a sum must start at 0, not at what chunks[c] held"},
         {sums_of(x, 0.0F, equal_begin, equal_end),
          "x is cut into equal pieces; chunks have kChunk numbers, whatever the size"},
         {sums_of(x, 0.0F, begin, after_end), "a chunk ends before the first element of the next"},
         {sums_of(x, 0.0F, after_begin, end), "the first element of a chunk is missing"},
         {sums_of(x, 0.0, begin, end),
          "the sum is in float64; the wanted one rounds after each addition"}},
        0);
  }
}

void the_tree_is_fixed() {
  expect_close("sum_tree of nothing", sum_tree({}), 0);
  expect_close("sum_tree of one", sum_tree({3}), 3);
  const std::vector<float> x = {1, 1e8F, -1e8F, 1, 1};
  // ((1 + 1e8) + (-1e8 + 1)) + 1, and the results of other orders
  expect_close("sum_tree of 1, 1e8, -1e8, 1, 1", sum_tree(x), 1,
               {{0, "the last one, without a neighbour, is dropped"},
                {2, "this is the sum in order: a chain, not a tree of neighbours"},
                {3, "the sum is in float64, or in an order of its own"}},
               0);
  const std::vector<float> y = random_numbers(7);
  expect_close("sum_tree of seven", sum_tree(y),
               ((y[0] + y[1]) + (y[2] + y[3])) + ((y[4] + y[5]) + y[6]), {}, 0);
}

std::vector<Exercise> all_exercises() {
  return {
      {"018.1 three_numbers", "floats near 1e8 are 8 apart: what becomes of 1e8 + 1?",
       order_matters},
      {"018.2 sum_chunks", "loop over this part's chunks; chunk c ends at min(x.size(), ...)",
       chunks_do_not_depend_on_parts},
      {"018.3 sum_tree", "a new vector of half the size, until its size is 1", the_tree_is_fixed},
  };
}

}  // namespace tessera::exercises::checks
