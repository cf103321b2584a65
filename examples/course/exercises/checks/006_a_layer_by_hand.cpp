#include <tessera/models/encoder_layer.h>
#include <tessera/nn/module.h>
#include <tessera/nn/norm.h>
#include "examples/course/exercises/check.h"

namespace tessera::exercises::checks {

void rms_norm_is_the_librarys() {
  expect_close("rms_norm of one row", rms_norm({{3, 4}}, {{1, 2}}, 0),
               {{3 / std::sqrt(12.5), 8 / std::sqrt(12.5)}},
               {{{{3. / 5, 8. / 5}}, "the root is of the mean of the squares, not of their sum"},
                {{{-1, 2}}, "the mean is not subtracted: that is layer norm"},
                {{{3 / std::sqrt(12.5), 4 / std::sqrt(12.5)}}, "each column has its weight"}});
  const double outside = std::sqrt(12.5) + 12.5;
  expect_close("rms_norm with eps = 12.5", rms_norm({{3, 4}}, {{1, 1}}, 12.5), {{0.6, 0.8}},
               {{{{3 / outside, 4 / outside}}, "eps is added before the root"}});
  const Tensor x = randn({5, 6}, kFloat64);
  nn::RMSNorm norm({.normalized_shape = {6}, .eps = 0.25});
  norm.weight = uniform(0.5, 2, {6}, kFloat64);
  expect_close("rms_norm with eps = 0.25", rms_norm(x, norm.weight, 0.25), norm(x));
}

void the_gated_network_is_the_librarys() {
  expect_close("gated_feed_forward of u = 2, g = -3", gated_feed_forward({{1}}, {{2}, {-3}}, {{1}}),
               {{-6}}, {{{{0}}, "relu is of u only, the first F columns of x W1^T"}});
  expect_close("gated_feed_forward of u = -2, g = -3",
               gated_feed_forward({{1}}, {{-2}, {-3}}, {{1}}), {{0}},
               {{{{6}}, "relu(u) is missing: a negative u gives 0"}});
  nn::FeedForward network({.d_model = 4,
                           .dim_feedforward = 6,
                           .linear1_bias = false,
                           .linear2_bias = false,
                           .gated = true});
  nn::convert(network, kFloat64);
  const Tensor x = randn({3, 4}, kFloat64);
  expect_close("gated_feed_forward",
               gated_feed_forward(x, *network.linear1.weight, *network.linear2.weight), network(x));
}

void the_parameters_are_counted() {
  for (const auto& [width, hidden] : {std::pair<index_t, index_t>{4, 6}, {8, 32}, {768, 3072}}) {
    const models::EncoderLayer layer({.d_model = width, .nhead = 2, .dim_feedforward = hidden});
    const index_t wanted = nn::parameter_count(layer);
    expect_close(
        str_cat("parameters_of_a_layer(", width, ", ", hidden, ")"),
        parameters_of_a_layer(width, hidden), wanted,
        {{wanted - width * width - width, "attention has a fourth product, W_O"},
         {wanted - 5 * width - hidden, "each of the six products has a bias"},
         {wanted - 2 * width, "there are two norms, each with a weight and a bias of D numbers"}});
  }
}

std::vector<Exercise> all_exercises() {
  return {
      {"006.1 rms_norm",
       "the mean is over the columns of one row, and eps is added before the root",
       rms_norm_is_the_librarys},
      {"006.2 gated_feed_forward",
       "row f of w1 makes u_f and row F + f makes g_f; F is w1.rows() / 2",
       the_gated_network_is_the_librarys},
      {"006.3 parameters_of_a_layer",
       "four products in attention, two in the feed-forward network, each with a bias; two norms, "
       "each with a weight and a bias",
       the_parameters_are_counted},
  };
}

}  // namespace tessera::exercises::checks
