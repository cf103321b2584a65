// Every loss with every reduction: PyTorch's values and gradients, and gradients by differences.
#include "tessera/nn/loss.h"
#include "tessera/tensor/ops/ops.h"
#include "tests/support/golden_gradients.h"
#include "tests/support/gradcheck.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

const std::map<std::string, Reduction> kReductions = {
    {"mean", Reduction::kMean}, {"sum", Reduction::kSum}, {"none", Reduction::kNone}};
const std::map<std::string, KlReduction> kKlReductions = {{"mean", KlReduction::kMean},
                                                          {"batchmean", KlReduction::kBatchMean},
                                                          {"sum", KlReduction::kSum},
                                                          {"none", KlReduction::kNone}};

class LossParity : public ::testing::TestWithParam<DType> {
 protected:
  /// Compares every case of a golden file.
  static void expect_golden(const char* file, double allowed,
                            const std::map<std::string, GoldenFunction>& losses) {
    const GoldenCase golden(file);
    EXPECT_EQ(golden_case_names(golden).size(), losses.size());
    for (const auto& [name, loss] : losses) {
      EXPECT_TRUE(
          agrees(golden, name, GetParam(), loss, GetParam() == kFloat32 ? allowed : 1e-12, 0.1));
    }
  }
};
INSTANTIATE_TEST_SUITE_P(DTypes, LossParity, ::testing::Values(kFloat32, kFloat64),
                         [](const auto& test) { return str_cat(test.param); });

TEST_P(LossParity, LossesOfClassesAndValues) {
  std::map<std::string, GoldenFunction> losses = {
      {"cross_entropy_far", [](auto& o) { return cross_entropy(o["x"], o["target"]); }},
      {"cross_entropy_all_ignored",
       [](auto& o) { return cross_entropy(o["x"], o["targets"], {.ignore_index = 2}); }},
  };
  for (const auto& [name, kind] : kReductions) {
    const Reduction reduction = kind;
    losses["mse_" + name] = [=](auto& o) { return mse_loss(o["x"], o["target"], reduction); };
    for (const char* weighted : {"", "_weighted"}) {  // operands that a case lacks are undefined
      losses["bce_" + name + weighted] = [=](auto& o) {
        return bce_with_logits(
            o["x"], o["target"],
            {.weight = o["weight"], .pos_weight = o["pos_weight"], .reduction = reduction});
      };
      for (const double smoothing : {0.0, 0.15}) {
        const char* const kind_name = smoothing == 0 ? "_plain" : "_smooth";
        losses["cross_entropy_" + name + kind_name + weighted] = [=](auto& o) {
          return cross_entropy(
              o["x"], o["targets"],
              {.weight = o["weight"], .label_smoothing = smoothing, .reduction = reduction});
        };
      }
    }
  }
  expect_golden("losses", 2e-5, losses);
}

TEST_P(LossParity, LossesOfDistributionsAndVectors) {
  std::map<std::string, GoldenFunction> losses;
  for (const auto& [name, kind] : kReductions) {
    const Reduction reduction = kind;
    for (const char* start : {"nll_", "nll_weighted_"}) {
      losses[start + name] = [=](auto& o) {
        return nll_loss(o["x"], o["target"], {.weight = o["weight"], .reduction = reduction});
      };
    }
    losses["contrastive_" + name] = [=](auto& o) {
      return info_nce_loss(o["queries"], o["keys"], {.reduction = reduction});
    };
    losses["contrastive_symmetric_" + name] = [=](auto& o) {
      return info_nce_loss(
          o["queries"], o["keys"],
          {.temperature = 2, .symmetric = true, .normalize = false, .reduction = reduction});
    };
    for (const bool other : {false, true}) {
      losses[(other ? "smooth_l1_narrow_" : "smooth_l1_") + name] = [=](auto& o) {
        return smooth_l1_loss(o["x"], o["target"],
                              {.beta = other ? 0.25 : 1, .reduction = reduction});
      };
      losses[(other ? "triplet_swap_" : "triplet_") + name] = [=](auto& o) {
        return triplet_margin_loss(o["anchor"], o["positive"], o["negative"],
                                   {.margin = 0.5, .swap = other, .reduction = reduction});
      };
    }
  }
  for (const auto& [name, kind] : kKlReductions) {
    for (const bool log_target : {false, true}) {
      losses[(log_target ? "kl_log_" : "kl_") + name] = [=, reduction = kind](auto& o) {
        return kl_div(o["x"], o["target"], {.log_target = log_target, .reduction = reduction});
      };
    }
  }
  expect_golden("composed_losses", 1e-5, losses);
}

// The differences of both operands, if both may have a gradient.
TEST(LossGradients, AgreeWithDifferences) {
  const Tensor classes = tensor({{0, 4}, {-100, 2}, {3, 3}});
  const Tensor of_classes = values({5}, 8, 0.5, 2), of_columns = values({4}, 10, 0.5, 2);
  const Tensor target = values({3, 4}, 9, 0, 1);
  const Tensor scores = values({3, 2, 5}, 7), x = values({3, 4}, 14), y = values({3, 4}, 15);
  const Tensors triplet = {values({2, 3, 4}, 1), values({2, 3, 4}, 2), values({2, 3, 4}, 3)};
  const auto check = [](const std::string& name, const Tensors& inputs, const Function& loss) {
    EXPECT_TRUE(gradcheck(loss, inputs)) << name;
  };
  for (const auto& [name, kind] : kReductions) {
    const Reduction reduction = kind;
    for (const double smoothing : {0.0, 0.2}) {
      check("cross_entropy " + name, {scores}, [&](const Tensors& in) {
        CrossEntropyOptions options = {.label_smoothing = smoothing, .reduction = reduction};
        const Tensor plain = cross_entropy(in[0], classes, options);
        options.weight = of_classes;
        return plain + cross_entropy(in[0], classes, options);
      });
    }
    check("nll_loss " + name, {scores}, [&](const Tensors& in) {
      return nll_loss(in[0], classes, {.reduction = reduction}) +
             nll_loss(in[0], classes, {.weight = of_classes, .reduction = reduction});
    });
    check("bce_with_logits " + name, {values({3, 4}, 11)}, [&](const Tensors& in) {
      return bce_with_logits(in[0], target, {.reduction = reduction}) +
             bce_with_logits(
                 in[0], target,
                 {.weight = of_columns, .pos_weight = of_columns * 2, .reduction = reduction});
    });
    check("mse_loss " + name, {x, y},
          [&](const Tensors& in) { return mse_loss(in[0], in[1], reduction); });
    for (const double beta : {0.0, 0.5, 2.0}) {
      check("smooth_l1_loss " + name, {x, y}, [&](const Tensors& in) {
        return smooth_l1_loss(in[0], in[1], {.beta = beta, .reduction = reduction});
      });
    }
    for (const bool swap : {false, true}) {
      check("triplet_margin_loss " + name, triplet, [&](const Tensors& in) {
        return triplet_margin_loss(in[0], in[1], in[2],
                                   {.margin = 4, .swap = swap, .reduction = reduction});
      });
    }
  }
  for (const bool flag : {false, true}) {
    for (const auto& [name, kind] : kKlReductions) {
      check("kl_div " + name, {values({3, 4}, 1), values({3, 4}, 2, 0.1, 1)},
            [&, reduction = kind](const Tensors& in) {
              return kl_div(in[0], in[1], {.log_target = flag, .reduction = reduction});
            });
    }
    for (const index_t keys : {3, 5}) {
      for (const bool symmetric : {false, true}) {
        if (symmetric && keys != 3) continue;
        check("info_nce_loss", {values({3, 4}, 3), values({keys, 4}, 4)}, [&](const Tensors& in) {
          return info_nce_loss(in[0], in[1],
                               {.temperature = 0.5, .symmetric = symmetric, .normalize = flag});
        });
      }
    }
  }
}

}  // namespace
}  // namespace tessera::nn
