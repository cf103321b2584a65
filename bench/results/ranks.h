// Whether one set of times is longer than another, by ranks only: no distribution is assumed, and
// one wild value has no more weight than its rank.
//
// Small samples are counted exactly, ties included: among all ways in which chance could have dealt
// out the ranks seen, the share that looks as clear as the one observed. Larger ones take the
// normal distribution with its correction for ties.
#pragma once

#include <span>
#include <vector>

namespace tessera::results {

/// The probability that values of one distribution look as much larger in `y` than in `x` as here:
/// P(U >= u), U = the number of pairs (i, j) with y_j > x_i, equal ones counted as halves. 1 where a
/// side is empty.
/// **Source**: Mann and Whitney, "On a test of whether one of two random variables is stochastically
/// larger than the other", 1947.
double mann_whitney(std::span<const double> x, std::span<const double> y);

/// The probability that differences which are as often negative as positive look as much above 0 as
/// here: P(W >= w), W = the sum of the ranks of |d| over the positive d. Zeros are left out.
/// **Source**: Wilcoxon, "Individual comparisons by ranking methods", 1945.
double signed_rank(std::span<const double> differences);

/// The median. **Errors**: std::invalid_argument, no values.
double median(std::vector<double> values);
/// The median of |value - median|: how far values scatter, whatever a few of them do.
double median_deviation(const std::vector<double>& values);

/// The middle of the differences: the median of (d_i + d_j) / 2 over all i <= j.
/// **Source**: Hodges and Lehmann, "Estimates of location based on rank tests", 1963.
double middle(std::span<const double> differences);
/// The shift from x to y: the median of y_j - x_i over all pairs.
double shift(std::span<const double> x, std::span<const double> y);

/// The probabilities of a family of tests, each multiplied so that calling those below alpha
/// significant is wrong anywhere in the family with a probability of at most alpha.
/// **Source**: Holm, "A simple sequentially rejective multiple test procedure", 1979.
std::vector<double> holm(const std::vector<double>& probabilities);

}  // namespace tessera::results
