// Layer norm and RMS norm, which differ in the mean and the bias.
#include "tessera/tensor/ops/layer_norm.h"

#include "tests/support/golden_gradients.h"
#include "tests/support/oracle_ops.h"
#include "tests/support/test.h"
#include "tests/support/threads.h"

namespace tessera::test {
namespace {

enum class NormKind { kLayer, kRms };
constexpr NormKind kNorms[] = {NormKind::kLayer, NormKind::kRms};

class NormTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, NormTest, each_isa(), isa_name);

const char* name_of(NormKind kind) {
  return kind == NormKind::kLayer ? "layer_norm" : "rms_norm";
}

Tensor norm_of(NormKind kind, const Tensor& x, const Tensor& weight = {}, double eps = 1e-5) {
  return kind == NormKind::kLayer ? layer_norm(x, weight, {}, eps) : rms_norm(x, weight, eps);
}

Tensor norm_over(NormKind kind, const Tensor& x, const Shape& normalized, const Tensor& weight,
                 const Tensor& bias, double eps = 1e-5) {
  return kind == NormKind::kLayer ? layer_norm(x, normalized, weight, bias, eps)
                                  : rms_norm(x, normalized, weight, eps);
}

/// The definition, with weight and bias over the last axes, or undefined.
Array naive_norm(NormKind kind, const Tensor& x, const Shape& normalized, const Tensor& weight,
                 const Tensor& bias, double eps) {
  Axes axes;
  for (index_t axis = x.rank() - normalized.size(); axis < x.rank(); ++axis) axes.push_back(axis);
  Array y = kind == NormKind::kLayer ? naive_normalize(array(x), axes, eps)
                                     : naive_rms_normalize(array(x), axes, eps);
  if (weight.defined()) y = map(y, array(weight), std::multiplies<>());
  if (bias.defined()) y = map(y, array(bias), std::plus<>());
  return y;
}

TEST_P(NormTest, AgreesWithTheDefinition) {
  const struct {
    Shape shape, normalized;
  } cases[] = {{{1}, {1}},         {{5, 1}, {1}},         {{4, 7}, {7}},          {{3, 16}, {16}},
               {{2, 3, 33}, {33}}, {{2, 3, 33}, {3, 33}}, {{2, 3, 4}, {2, 3, 4}}, {{0, 4}, {4}},
               {{4, 0}, {0}}};
  for (const NormKind kind : kNorms) {
    for (DType dtype : {kFloat32, kFloat64}) {
      for (const auto& [shape, normalized] : cases) {
        const Tensor weight = random_tensor(normalized, dtype, 2);
        const Tensor bias = random_tensor(normalized, dtype, 3);
        for (const Layout& x : random_layouts(shape, dtype, 1)) {
          for (const Tensor& w : {weight, Tensor()}) {
            for (const Tensor& b : {bias, Tensor()}) {
              if (b.defined() && kind == NormKind::kRms) continue;
              SCOPED_TRACE(str_cat(name_of(kind), " of ", x.name, ", shape ", shape, ", over ",
                                   normalized, ", ", dtype, ", weight ", w.defined(), ", bias ",
                                   b.defined()));
              const Tensor got = norm_over(kind, x.tensor, normalized, w, b, 1e-3);
              const double absolute = (kind == NormKind::kLayer ? 20 : 10) * tolerance(dtype);
              EXPECT_EQ(got.dtype(), dtype);
              EXPECT_TRUE(got.is_contiguous());
              EXPECT_TRUE(near(got, naive_norm(kind, x.tensor, normalized, w, b, 1e-3),
                               10 * tolerance(dtype), absolute));
              EXPECT_TRUE(
                  same_bits(got, norm_over(kind, x.tensor.clone(), normalized, w, b, 1e-3)));
            }
          }
        }
      }
    }
  }
}

TEST_P(NormTest, TakesItsAxesFromTheWeight) {
  const Tensor x = random_tensor({2, 3, 5}, kFloat32, 4);
  const Tensor matrix = random_tensor({3, 5}, kFloat32, 5);
  for (const NormKind kind : kNorms) {
    EXPECT_TRUE(same_bits(norm_of(kind, x, matrix), norm_over(kind, x, {3, 5}, matrix, {})));
    EXPECT_TRUE(same_bits(norm_of(kind, x), norm_over(kind, x, {5}, {}, {})));
  }
  EXPECT_TRUE(same_bits(layer_norm(x, {}, matrix, 1e-5), layer_norm(x, {3, 5}, {}, matrix)));
}

TEST_P(NormTest, TakesParametersOfEveryLayout) {
  const Tensor x = random_tensor({2, 3, 5}, kFloat64, 6);
  for (const Layout& weight : random_layouts({3, 5}, kFloat64, 7)) {
    EXPECT_TRUE(same_bits(rms_norm(x, weight.tensor), rms_norm(x, weight.tensor.clone())))
        << weight.name;
    for (const Layout& bias : random_layouts({3, 5}, kFloat64, 8)) {
      const Tensor got = layer_norm(x, weight.tensor, bias.tensor);
      EXPECT_TRUE(same_bits(got, layer_norm(x, weight.tensor.clone(), bias.tensor.clone())))
          << weight.name << ", bias " << bias.name;
      EXPECT_TRUE(near(got,
                       naive_norm(NormKind::kLayer, x, {3, 5}, weight.tensor, bias.tensor, 1e-5),
                       1e-12, 1e-12));
    }
  }
}

TEST_P(NormTest, NeitherThreadsNorNeighboursNorATapeChangeTheBits) {
  const Tensor x = random_tensor({301, 257}, kFloat32, 13);
  const Tensor weight = random_tensor({257}, kFloat32, 14);
  for (const NormKind kind : kNorms) {
    SCOPED_TRACE(name_of(kind));
    const Tensor want = same_on_any_threads([&] { return norm_of(kind, x, weight); });
    for (index_t i = 0; i < 301; i += 30) {
      EXPECT_TRUE(same_bits(norm_of(kind, x.select(0, i), weight), want.select(0, i))) << i;
    }
    const Tensor variable = x.clone().set_requires_grad();
    Tape tape;
    EXPECT_TRUE(same_bits(norm_of(kind, variable, weight).detach(), want));
  }
}

TEST_P(NormTest, NanAndInfinityStayInTheirRow) {
  for (const NormKind kind : kNorms) {
    for (const double bad : {kNaN, kInf}) {
      for (index_t i = 0; i < 37; ++i) {
        SCOPED_TRACE(str_cat(name_of(kind), ", ", bad, " at ", i));
        Tensor x = random_tensor({2, 37}, kFloat32, 12);
        const Tensor untouched = norm_of(kind, x.select(0, 1));
        x.select(0, 0).slice(0, i, i + 1).fill(bad);
        const Tensor got = norm_of(kind, x);
        // Without a mean, infinity over infinity is NaN, and others over infinity are 0.
        const bool all_nan = kind == NormKind::kLayer || std::isnan(bad);
        const Array want =
            build({37}, [&](const Dims& at) { return all_nan || at[0] == i ? kNaN : 0.0; });
        EXPECT_TRUE(near(got.select(0, 0), want, 0));
        EXPECT_TRUE(same_bits(got.select(0, 1), untouched));
      }
    }
  }
}

TEST_P(NormTest, RmsNormAgreesWithPyTorch) {
  const auto with_eps = [](double eps) {
    return [=](GoldenOperands& o) { return rms_norm(o["input"], o["weight"], eps); };
  };
  for (const DType dtype : {kFloat32, kFloat64}) {
    expect_every_case(GoldenCase("rms_norm"), dtype,
                      {{"plain", with_eps(1e-6)},
                       {"weight", with_eps(1e-6)},
                       {"eps", with_eps(1e-3)},
                       {"two_axes", with_eps(1e-6)}});
  }
}

TEST(Norm, NamesWhatIsWrong) {
  const Tensor x = zeros({2, 3});
  for (const NormKind kind : kNorms) {
    const auto error = [kind](const std::vector<std::string>& parts, const auto&... arguments) {
      return throws(name_of(kind), parts, [&] { norm_of(kind, arguments...); });
    };
    EXPECT_TRUE(error({"(2, 3)", "(4,)"}, x, zeros({4})));
    EXPECT_TRUE(error({"(2, 3)", "(1, 2, 3)"}, x, zeros({1, 2, 3})));
    EXPECT_TRUE(error({"weight must be float32", "got float64"}, x, zeros({3}, kFloat64)));
    EXPECT_TRUE(error({"int64"}, tensor({1, 2})));
    EXPECT_TRUE(error({"()"}, tensor(1.0)));
    EXPECT_TRUE(error({"float32"}, Tensor()));
    EXPECT_TRUE(error({"eps must be at least 0, got -1"}, x, Tensor(), -1.0));
    EXPECT_TRUE(error({"eps must be at least 0, got nan"}, x, Tensor(), std::nan("")));
    fails(name_of(kind), {"weight must have shape (3,)", "(1,)"},
          [&] { norm_over(kind, x, {3}, zeros({1}), {}); });
  }
  fails("layer_norm", {"bias", "(1,)", "(3,)"}, [&] { layer_norm(x, zeros({3}), zeros({1})); });
}

}  // namespace
}  // namespace tessera::test
