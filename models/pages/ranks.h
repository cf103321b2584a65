// Tests whether differences are above 0, only by ranks: no distribution is assumed, and an
// outlier has no more weight than its rank.
//
// Small samples are counted exactly, ties included: the result is the share, among all assignments
// of signs to the ranks, of those whose statistic is at least the observed one. Larger samples use
// the normal distribution with its correction for ties.
#pragma once

#include <span>
#include <vector>

namespace tessera::pages {

/// The p-value of the signed-rank test that differences are above 0: P(W >= w) if positive and
/// negative signs are equally probable, where W is the sum of the ranks of |d| over the positive d.
/// Zeros are omitted.
/// **Source**: Wilcoxon, "Individual comparisons by ranking methods", 1945.
double wilcoxon_signed_rank(std::span<const double> differences);

/// The median. **Errors**: std::invalid_argument: no values.
double median(std::vector<double> values);

/// An estimate of the typical difference: the median of (d_i + d_j) / 2 over all i <= j.
/// **Source**: Hodges and Lehmann, "Estimates of location based on rank tests", 1963.
double hodges_lehmann(std::span<const double> differences);

/// The probabilities of a family of tests, corrected so that, if all tests with a value below alpha
/// are called significant, the probability of at least one false one in the family is at most
/// alpha.
/// **Source**: Holm, "A simple sequentially rejective multiple test procedure", 1979.
std::vector<double> holm(const std::vector<double>& probabilities);

}  // namespace tessera::pages
