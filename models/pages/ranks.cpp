#include "tessera/models/pages/ranks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "tessera/tensor/error.h"

namespace tessera::pages {

namespace {

/// The largest number of values for which the ways to give signs are counted.
constexpr std::size_t kCounted = 40;

/// Throws std::invalid_argument if a value is NaN, which has no rank.
void require_no_nan(const char* op, const char* what, std::span<const double> values) {
  const auto nan = std::ranges::find_if(values, [](double value) { return std::isnan(value); });
  require(nan == values.end(), op, what, " must not be NaN, got NaN at index ",
          nan - values.begin());
}

/// Twice the rank of each value, from 2 on; equal values share the mean of their ranks, which
/// doubled is whole.
std::vector<std::size_t> doubled_ranks(const std::vector<double>& values) {
  std::vector<std::size_t> order(values.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return values[a] < values[b]; });
  std::vector<std::size_t> ranks(values.size());
  for (std::size_t first = 0; first < order.size();) {
    std::size_t stop = first + 1;
    while (stop < order.size() && values[order[stop]] == values[order[first]]) ++stop;
    for (std::size_t i = first; i < stop; ++i) ranks[order[i]] = first + 1 + stop;
    first = stop;
  }
  return ranks;
}

/// P(Z >= z) of the normal distribution.
double upper_tail(double z) {
  return std::erfc(z / std::sqrt(2.0)) / 2;
}

double as_double(std::size_t n) {
  return static_cast<double>(n);
}

/// The share of all ways to give each rank a sign whose positive ranks add up to at least `sum`.
double share_of_signs(const std::vector<std::size_t>& ranks, std::size_t sum) {
  const std::size_t most = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0});
  std::vector<double> ways(most + 1);
  ways[0] = 1;
  for (const std::size_t rank : ranks) {
    for (std::size_t s = most; s >= rank; --s) ways[s] += ways[s - rank];
  }
  const auto from = ways.begin() + static_cast<std::ptrdiff_t>(std::min(sum, most + 1));
  return std::accumulate(from, ways.end(), 0.0) / std::exp2(as_double(ranks.size()));
}

/// sum (t^3 - t) over groups of t equal values, from their doubled ranks.
double tie_term(std::vector<std::size_t> ranks) {
  std::sort(ranks.begin(), ranks.end());
  double term = 0;
  for (auto first = ranks.begin(); first != ranks.end();) {
    const auto stop = std::upper_bound(first, ranks.end(), *first);
    const auto t = static_cast<double>(stop - first);
    term += t * t * t - t;
    first = stop;
  }
  return term;
}

}  // namespace

double wilcoxon_signed_rank_greater(std::span<const double> differences) {
  require_no_nan("wilcoxon_signed_rank_greater", "differences", differences);
  std::vector<double> sizes;
  std::vector<bool> positive;
  for (const double d : differences) {
    if (d == 0) continue;
    sizes.push_back(std::abs(d));
    positive.push_back(d > 0);
  }
  if (sizes.empty()) return 1;
  const std::vector<std::size_t> ranks = doubled_ranks(sizes);
  std::size_t sum = 0;
  for (std::size_t i = 0; i < ranks.size(); ++i) sum += positive[i] ? ranks[i] : 0;
  if (ranks.size() <= kCounted) return share_of_signs(ranks, sum);
  const double n = as_double(ranks.size());
  const double variance = (n * (n + 1) * (2 * n + 1) - tie_term(ranks) / 2) / 24;
  return upper_tail((as_double(sum) / 2 - n * (n + 1) / 4 - 0.5) / std::sqrt(variance));
}

double median(std::vector<double> values) {
  require(!values.empty(), "median", "values must be at least 1, got 0");
  require_no_nan("median", "values", values);
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  if (values.size() % 2 == 1) return *half;
  return (*half + *std::max_element(values.begin(), half)) / 2;
}

double hodges_lehmann(std::span<const double> differences) {
  require_no_nan("hodges_lehmann", "differences", differences);
  std::vector<double> means;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    for (std::size_t j = i; j < differences.size(); ++j) {
      means.push_back((differences[i] + differences[j]) / 2);
    }
  }
  require_no_nan("hodges_lehmann", "means of pairs of differences", means);
  return median(std::move(means));
}

std::vector<double> holm(const std::vector<double>& probabilities) {
  require_no_nan("holm", "probabilities", probabilities);
  std::vector<std::size_t> order(probabilities.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::sort(order.begin(), order.end(),
            [&](std::size_t a, std::size_t b) { return probabilities[a] < probabilities[b]; });
  std::vector<double> adjusted(probabilities.size());
  double largest = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    largest = std::max(largest, probabilities[order[i]] * as_double(order.size() - i));
    adjusted[order[i]] = std::min(largest, 1.0);
  }
  return adjusted;
}

}  // namespace tessera::pages
