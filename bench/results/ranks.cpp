#include "bench/results/ranks.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>

#include "tensor/error.h"

namespace tessera::results {

namespace {

/// Up to so many values the ways to deal out ranks are counted.
constexpr std::size_t kExact = 40;

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

/// The share of all choices of `chosen` of the ranks whose sum is at least `sum`.
///
/// ways[c][s], the number of choices of c ranks with sum s, from one rank at a time.
double share_of_choices(const std::vector<std::size_t>& ranks, std::size_t chosen,
                        std::size_t sum) {
  const std::size_t most = std::accumulate(ranks.begin(), ranks.end(), std::size_t{0});
  std::vector<std::vector<double>> ways(chosen + 1, std::vector<double>(most + 1));
  ways[0][0] = 1;
  for (const std::size_t rank : ranks) {
    for (std::size_t c = chosen; c > 0; --c) {
      for (std::size_t s = most; s >= rank; --s) ways[c][s] += ways[c - 1][s - rank];
    }
  }
  const std::vector<double>& last = ways[chosen];
  const auto from = last.begin() + static_cast<std::ptrdiff_t>(std::min(sum, most + 1));
  return std::accumulate(from, last.end(), 0.0) / std::accumulate(last.begin(), last.end(), 0.0);
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

double mann_whitney(std::span<const double> x, std::span<const double> y) {
  if (x.empty() || y.empty()) return 1;
  std::vector<double> all(x.begin(), x.end());
  all.insert(all.end(), y.begin(), y.end());
  const std::vector<std::size_t> ranks = doubled_ranks(all);
  const auto of_y = ranks.begin() + static_cast<std::ptrdiff_t>(x.size());
  const std::size_t sum = std::accumulate(of_y, ranks.end(), std::size_t{0});
  if (all.size() <= kExact) return share_of_choices(ranks, y.size(), sum);
  const double m = as_double(x.size());
  const double n = as_double(y.size());
  const double mean = n * (m + n + 1) / 2;
  const double variance = m * n / 12 * ((m + n + 1) - tie_term(ranks) / ((m + n) * (m + n - 1)));
  if (variance <= 0) return 1;  // all values are equal
  return upper_tail((as_double(sum) / 2 - mean - 0.5) / std::sqrt(variance));
}

double signed_rank(std::span<const double> differences) {
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
  if (ranks.size() <= kExact) return share_of_signs(ranks, sum);
  const double n = as_double(ranks.size());
  const double variance = (n * (n + 1) * (2 * n + 1) - tie_term(ranks) / 2) / 24;
  return upper_tail((as_double(sum) / 2 - n * (n + 1) / 4 - 0.5) / std::sqrt(variance));
}

double median(std::vector<double> values) {
  require(!values.empty(), "median", "needs at least 1 value, got 0");
  const auto half = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), half, values.end());
  if (values.size() % 2 == 1) return *half;
  return (*half + *std::max_element(values.begin(), half)) / 2;
}

double median_deviation(const std::vector<double>& values) {
  const double centre = median(values);
  std::vector<double> distances;
  for (const double value : values) distances.push_back(std::abs(value - centre));
  return median(std::move(distances));
}

double middle(std::span<const double> differences) {
  std::vector<double> means;
  for (std::size_t i = 0; i < differences.size(); ++i) {
    for (std::size_t j = i; j < differences.size(); ++j) {
      means.push_back((differences[i] + differences[j]) / 2);
    }
  }
  return median(std::move(means));
}

double shift(std::span<const double> x, std::span<const double> y) {
  std::vector<double> differences;
  for (const double a : x) {
    for (const double b : y) differences.push_back(b - a);
  }
  return median(std::move(differences));
}

std::vector<double> holm(const std::vector<double>& probabilities) {
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

}  // namespace tessera::results
