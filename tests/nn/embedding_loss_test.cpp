#include "nn/loss.h"

#include "tensor/autograd/tape.h"
#include "tensor/ops/ops.h"
#include "tests/support/gradcheck.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using nn::contrastive;
using nn::Reduction;
using nn::triplet_margin_loss;

TEST(TripletMarginLoss, FarNegativesCostNothing) {
  const Tensor anchor = tensor({{0.0, 0.0}, {0.0, 0.0}}).set_requires_grad();
  const Tensor positive = tensor({{3.0, 4.0}, {3.0, 4.0}});
  const Tensor negative = tensor({{30.0, 40.0}, {0.0, 5.5}});
  Tape tape;
  const Tensor loss =
      triplet_margin_loss(anchor, positive, negative, {.eps = 0, .reduction = Reduction::kNone});
  EXPECT_TRUE(near(loss.detach(), array(tensor({0.0, 0.5})), 1e-6));
  tape.backward(sum(loss));
  EXPECT_TRUE(same_bits(anchor.grad().select(0, 0), zeros({2})));
  EXPECT_TRUE(near(anchor.grad().select(0, 1), array(tensor({-0.6, 0.2})), 1e-6));
}

TEST(TripletMarginLoss, Errors) {
  const Tensor x = zeros({2, 3});
  const auto fails = [&](const std::vector<std::string>& parts, const Tensor& positive,
                         const Tensor& negative, const nn::TripletOptions& options = {}) {
    return throws("triplet_margin_loss", parts,
                  [&] { triplet_margin_loss(x, positive, negative, options); });
  };
  EXPECT_TRUE(fails({"(2, 3)", "(3,)"}, zeros({3}), x));
  EXPECT_TRUE(fails({"(2, 3)", "(2, 1)"}, x, zeros({2, 1})));
  EXPECT_TRUE(fails({"float64"}, x, zeros({2, 3}, kFloat64)));
  EXPECT_TRUE(fails({"undefined"}, x, Tensor()));
  EXPECT_TRUE(fails({"margin", "-1"}, x, x, {.margin = -1}));
  EXPECT_TRUE(fails({"eps", "-1"}, x, x, {.eps = -1}));
}

/// InfoNCE by its definition.
std::vector<double> naive_contrastive(const Array& queries, const Array& keys, double temperature) {
  const index_t width = queries.shape[1];
  const auto product = [&](const Array& a, index_t i, const Array& b, index_t j) {
    double total = 0;
    for (index_t d = 0; d < width; ++d) total += a.at({i, d}) * b.at({j, d});
    return total;
  };
  const auto cosine = [&](index_t i, index_t j) {
    const double lengths = product(queries, i, queries, i) * product(keys, j, keys, j);
    return product(queries, i, keys, j) / std::sqrt(lengths);
  };
  std::vector<double> losses;
  for (index_t i = 0; i < queries.shape[0]; ++i) {
    double total = 0;
    for (index_t j = 0; j < keys.shape[0]; ++j) total += std::exp(cosine(i, j) / temperature);
    losses.push_back(std::log(total) - cosine(i, i) / temperature);
  }
  return losses;
}

TEST(Contrastive, IsItsDefinitionInEveryLayout) {
  for (const index_t more : {0, 3}) {
    const Tensor keys = random_tensor({5 + more, 8}, kFloat64, 2);
    for (const Layout& queries : random_layouts({5, 8}, kFloat64, 1)) {
      const Array want = {{5}, naive_contrastive(array(queries.tensor), array(keys), 0.1)};
      const Tensor got =
          contrastive(queries.tensor, keys, {.temperature = 0.1, .reduction = Reduction::kNone});
      EXPECT_TRUE(near(got, want, 1e-12, 1e-13)) << queries.name << ", " << more << " more keys";
    }
  }
}

TEST(Contrastive, OfZerosIsFinite) {
  const Tensor x = zeros({3, 4}).set_requires_grad();
  Tape tape;
  const Tensor loss = contrastive(x, ones({3, 4}));
  EXPECT_NEAR(loss.item(), std::log(3), 1e-6);
  tape.backward(loss);
  EXPECT_TRUE(all(isfinite(x.grad())).item<bool>());
}

TEST(Contrastive, Errors) {
  const Tensor x = zeros({2, 3});
  const auto fails = [&](const std::vector<std::string>& parts, const Tensor& queries,
                         const Tensor& keys, const nn::ContrastiveOptions& options = {}) {
    return throws("contrastive", parts, [&] { contrastive(queries, keys, options); });
  };
  EXPECT_TRUE(fails({"(2, 3)", "(2, 4)"}, x, zeros({2, 4})));
  EXPECT_TRUE(fails({"(2, 3)", "(1, 3)"}, x, zeros({1, 3})));
  EXPECT_TRUE(fails({"(3,)"}, zeros({3}), zeros({3})));
  EXPECT_TRUE(fails({"symmetric", "2 queries", "4 keys"}, x, zeros({4, 3}), {.symmetric = true}));
  EXPECT_TRUE(fails({"temperature", "0"}, x, x, {.temperature = 0}));
  EXPECT_TRUE(fails({"temperature", "nan"}, x, x, {.temperature = std::nan("")}));
  EXPECT_TRUE(fails({"int64"}, x, zeros({2, 3}, kInt64)));
  EXPECT_TRUE(fails({"undefined"}, Tensor(), x));
}

}  // namespace
}  // namespace tessera::test
