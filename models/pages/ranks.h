// Tests by ranks whether differences are above 0. The tests assume only that, without an effect,
// both signs of a difference are equally probable. An outlier has no more weight than its rank.
//
// For up to 40 differences, ties included, a p-value is exact: of all assignments of signs to the
// ranks, the fraction whose statistic is at least the observed one. For more, it is from
// the normal distribution, corrected for ties.
//
// **Errors** of all functions: std::invalid_argument: NaN.
#pragma once

#include <span>
#include <vector>

namespace tessera::pages {

/// The p-value of the signed-rank test that differences are above 0: P(W >= w) if positive and
/// negative signs are equally probable. W is the sum of the ranks of |d| over the positive
/// differences d, and w is the observed W. Differences of 0 are omitted; if there are no others,
/// the p-value is 1.
/// **Source**: Wilcoxon, "Individual comparisons by ranking methods", 1945.
double wilcoxon_signed_rank_greater(std::span<const double> differences);

/// The median. **Errors**: no values.
double median(std::vector<double> values);

/// An estimate of the typical difference: the median of (d_i + d_j) / 2 over all i <= j.
/// **Errors**: as median; both inf and -inf.
/// **Source**: Hodges and Lehmann, "Estimates of location based on rank tests", 1963.
double hodges_lehmann(std::span<const double> differences);

/// The p-values of a family of tests, corrected for the number of tests. If tests with a corrected
/// value of at most alpha are called significant, the probability that any of these calls is false
/// is at most alpha.
/// **Source**: Holm, "A simple sequentially rejective multiple test procedure", 1979.
std::vector<double> holm(const std::vector<double>& probabilities);

}  // namespace tessera::pages
