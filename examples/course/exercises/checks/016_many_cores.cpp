#include <array>

#include "examples/course/exercises/check.h"
#include "tensor/error.h"
#include "tensor/random.h"

#include TESSERA_EXERCISES

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

/// The sum of x[begin], ..., in order, added to `sum`.
float in_order(const std::vector<float>& x, std::size_t begin, std::size_t end, float sum = 0) {
  for (std::size_t i = begin; i < std::min(end, x.size()); ++i) sum += x[i];
  return sum;
}

double in_double(const std::vector<float>& x, std::size_t begin, std::size_t end) {
  double sum = 0;
  for (std::size_t i = begin; i < std::min(end, x.size()); ++i) sum += static_cast<double>(x[i]);
  return sum;
}

Matrix row_of(const std::vector<float>& x) {
  return Matrix(1, std::ssize(x), std::vector<double>(x.begin(), x.end()));
}

std::vector<float> random_numbers(index_t count) {
  Rng rng(16);
  return uniform({count}, -1, 1, kFloat32, rng).to_vector<float>();
}

constexpr float kHeld = 7;  // the initial contents of chunks

/// The wanted chunks, and the results of common mistakes.
struct Chunks {
  explicit Chunks(const std::vector<float>& x, std::size_t count) {
    for (std::size_t c = 0; c < count; ++c) {
      const std::size_t begin = c * kChunk;
      const std::size_t end = begin + kChunk;
      wanted.push_back(in_order(x, begin, end));
      stale.push_back(in_order(x, begin, end, kHeld));
      cut.push_back(in_order(x, x.size() * c / count, x.size() * (c + 1) / count));
      longer.push_back(in_order(x, begin, end + 1));
      without_first.push_back(in_order(x, begin + 1, end));
      exact.push_back(static_cast<float>(in_double(x, begin, end)));
    }
  }
  std::vector<float> wanted, stale, cut, longer, without_first, exact;
};

/// The results of all parts, computed one after the other.
std::vector<float> by_parts(const std::vector<float>& x, std::size_t parts, std::size_t count) {
  std::vector<float> chunks(count, kHeld);
  for (std::size_t part = 0; part < parts; ++part) {
    std::vector<float> written(count, kHeld);
    sum_chunks(x, part, parts, written);
    for (std::size_t c = 0; c < count; ++c) {
      const bool is_mine = count * part / parts <= c && c < count * (part + 1) / parts;
      expect(is_mine || written[c] == kHeld,
             str_cat("sum_chunks: part ", part, " of ", parts, ": chunk ", c, " must be ", kHeld,
                     ", got ", written[c]),
             "a part writes only its own chunks; the others belong to other threads");
      expect(!is_mine || c + 1 < count || written[c] != kHeld,
             str_cat("sum_chunks: chunk ", c, " must be a sum, got what it held"),
             "the last chunk, which is shorter, is missing");
      if (is_mine) chunks[c] = written[c];
    }
  }
  return chunks;
}

void chunks_do_not_depend_on_parts() {
  const std::vector<float> x = random_numbers(5 * kChunk + 7);
  const Chunks chunks(x, 6);
  for (const std::size_t parts : {1U, 2U, 3U, 8U}) {
    expect_close(str_cat("sum_chunks in ", parts, " parts"), row_of(by_parts(x, parts, 6)),
                 row_of(chunks.wanted),
                 {{row_of(chunks.stale), "a sum must start at 0, not at what chunks[c] held"},
                  {row_of(chunks.cut),
                   "x is cut into equal pieces; chunks have kChunk numbers, whatever the size"},
                  {row_of(chunks.longer), "a chunk ends before the first element of the next"},
                  {row_of(chunks.without_first), "the first element of a chunk is missing"},
                  {row_of(chunks.exact),
                   "the sum is in float64; the wanted one rounds after each addition"}},
                 0);
  }
}

void the_tree_is_fixed() {
  expect_close("sum_tree of nothing", static_cast<double>(sum_tree({})), 0);
  expect_close("sum_tree of one", static_cast<double>(sum_tree({3})), 3);
  const std::vector<float> x = {1, 1e8F, -1e8F, 1, 1};
  // ((1 + 1e8) + (-1e8 + 1)) + 1, and the results of other orders
  expect_close("sum_tree of 1, 1e8, -1e8, 1, 1", static_cast<double>(sum_tree(x)), 1,
               {{0, "the last one, without a neighbour, is dropped"},
                {2, "this is the sum in order: a chain, not a tree of neighbours"},
                {3, "the sum is in float64, or in an order of its own"}},
               0);
  const std::vector<float> y = random_numbers(7);
  const float left = (y[0] + y[1]) + (y[2] + y[3]);
  const float right = (y[4] + y[5]) + y[6];
  expect_close("sum_tree of seven", static_cast<double>(sum_tree(y)),
               static_cast<double>(left + right), 0);
}

int check_lesson() {
  return run_checks(
      "016_many_cores",
      {{"016.1 three_numbers", "floats near 1e8 are 8 apart: what becomes of 1e8 + 1?",
        order_matters},
       {"016.2 sum_chunks", "loop over this part's chunks; chunk c ends at min(x.size(), ...)",
        chunks_do_not_depend_on_parts},
       {"016.3 sum_tree", "a new vector of half the size, until its size is 1",
        the_tree_is_fixed}});
}

}  // namespace tessera::exercises::checks
