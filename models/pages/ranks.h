// Whether differences are above 0, by ranks only: no distribution is assumed, and one wild
// value has no more weight than its rank.
//
// Small samples are counted exactly, ties included: among all ways in which chance could have given
// signs to the ranks seen, the share that looks as clear as the one observed. Larger ones take the
// normal distribution with its correction for ties.
#pragma once

#include <span>
#include <vector>

namespace tessera::pages {

/// The probability that differences which are as often negative as positive look as much above 0 as
/// here: P(W >= w), W = the sum of the ranks of |d| over the positive d. Zeros are left out.
/// **Source**: Wilcoxon, "Individual comparisons by ranking methods", 1945.
double signed_rank(std::span<const double> differences);

/// The median. **Errors**: std::invalid_argument, no values.
double median(std::vector<double> values);

/// The middle of the differences: the median of (d_i + d_j) / 2 over all i <= j.
/// **Source**: Hodges and Lehmann, "Estimates of location based on rank tests", 1963.
double middle(std::span<const double> differences);

/// The probabilities of a family of tests, each multiplied so that calling those below alpha
/// significant is wrong anywhere in the family with a probability of at most alpha.
/// **Source**: Holm, "A simple sequentially rejective multiple test procedure", 1979.
std::vector<double> holm(const std::vector<double>& probabilities);

}  // namespace tessera::pages
