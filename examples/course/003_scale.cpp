// Why scores must stay small, and how attention keeps them small.
//
//     weights = softmax(s x),   entropy H = -sum_j w_j log w_j,   dw_i/dx_j = w_i ([i = j] - w_j)
//
// The scores x are always the same, multiplied by a scale s. As s grows, all weight goes to one
// key, and the derivatives of the softmax, through which training changes the scores, go to 0. The
// scores of a head of width d grow like sqrt(d), so attention divides by it.
//
//   003_scale [FOLDER]     prints; draws FOLDER/003_scale.svg
//
// Source: Vaswani et al., "Attention Is All You Need", 2017, section 3.2.1 and its footnote 4.
#include <algorithm>
#include <cmath>
#include <cstdio>
#include <string>
#include <vector>

#include <tessera/models/pages/chart.h>
#include <tessera/tensor/ops/ops.h>
#include "examples/course/by_hand.h"
#include "examples/course/example.h"
#include "examples/course/pictures.h"

using namespace tessera;
using namespace tessera::examples;

namespace {

const std::vector<double> kScores = {0.3, -1.1, 0.8, 1.5, -0.4, 0.1, -0.9, 0.6};

/// The standard deviation of a score of width d: the root of the mean square of q . k, over all 2^d keys of
/// 1 and -1, for a query of ones. The mean is 0, because each key has an opposite.
double deviation(int d) {
  double squares = 0;
  for (unsigned key = 0; key < 1u << d; ++key) {
    double score = 0;
    for (int c = 0; c < d; ++c) score += (key >> c & 1) != 0 ? 1 : -1;
    squares += score * score;
  }
  return std::sqrt(squares / (1u << d));
}

std::vector<double> weights_at(double scale) {
  const double largest = scale * *std::max_element(kScores.begin(), kScores.end());
  std::vector<double> weights;
  double sum = 0;
  for (const double score : kScores) {
    weights.push_back(std::exp(scale * score - largest));
    sum += weights.back();
  }
  for (double& weight : weights) weight /= sum;
  return weights;
}

/// 0 if one weight is 1, log 8 if all are equal. The limit of w log w at 0 is 0.
double entropy(const std::vector<double>& weights) {
  double sum = 0;
  for (const double w : weights) sum -= w > 0 ? w * std::log(w) : 0;
  return sum;
}

/// The norm of the Jacobian: the square root of the sum of all squared dw_i/dx_j.
double jacobian_norm(const std::vector<double>& weights) {
  double squares = 0;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    for (std::size_t j = 0; j < weights.size(); ++j) {
      squares += std::pow(weights[i] * ((i == j ? 1 : 0) - weights[j]), 2);
    }
  }
  return std::sqrt(squares);
}

void widths() {
  std::printf("Step 1: Scores of all keys of 1 and -1 with a query of ones\n");
  for (const int d : {1, 4, 9, 16}) {
    std::printf("d = %2d: from %3d to %2d, deviation %.4f\n", d, -d, d, deviation(d));
  }
  std::printf("\n");
}

void scales() {
  std::printf("Step 2: Eight scores, multiplied by a scale\n");
  std::printf("scale       largest entropy Jacobian\n");
  for (const double scale : {0.0, 0.5, 1.0, 2.0, 4.0, 8.0, 16.0, 32.0}) {
    const std::vector<double> w = weights_at(scale);
    std::printf("scale %4g: %7.4f %7.4f %.2e\n", scale, *std::max_element(w.begin(), w.end()),
                entropy(w), jacobian_norm(w));
  }
  const auto row = static_cast<index_t>(kScores.size());
  check_close("\nsoftmax of the scores times 8", Matrix(1, row, weights_at(8)),
              softmax(from_vector(kScores) * 8.0));
}

void cure() {
  std::printf("Step 3: The scale of a head of width d, and its entropy\n");
  for (const int d : {1, 4, 16, 64, 256, 1024}) {
    const double root = std::sqrt(static_cast<double>(d));
    std::printf("d = %4d: not divided %.4f, divided by sqrt(d) %.4f, divided by d %.4f\n", d,
                entropy(weights_at(root)), entropy(weights_at(1)), entropy(weights_at(1 / root)));
  }
}

void draw(const std::string& folder) {
  const double most = std::log(static_cast<double>(kScores.size()));
  pages::Series entropies = {.name = "entropy / log 8", .points = {}};
  pages::Series norms = {.name = "norm of the Jacobian / norm at 0", .points = {}};
  for (int i = 0; i <= 36; ++i) {
    const double scale = std::pow(2.0, i / 6.0 - 1);
    const std::vector<double> w = weights_at(scale);
    entropies.points.push_back({scale, entropy(w) / most, i == 6 ? "entropy" : ""});
    norms.points.push_back(
        {scale, jacobian_norm(w) / jacobian_norm(weights_at(0)), i == 11 ? "Jacobian" : ""});
  }
  const pages::Axis scale = {.label = "scale of the scores = sqrt(d)",
                             .scale = pages::Scale::kLog10,
                             .low = 0.5,
                             .high = 32};
  write_picture(folder, "003_scale.svg",
                pages::chart_svg({.title = "What a scale does to eight weights",
                                  .x = scale,
                                  .y = {.label = "fraction of the value at scale 0", .low = 0},
                                  .series = {entropies, norms}}));
}

}  // namespace

int main(int argc, char** argv) {
  return run_example("003_scale", argc, argv, "[FOLDER]", [&] {
    widths();
    scales();
    cure();
    if (argc > 1) draw(argv[1]);
  });
}
