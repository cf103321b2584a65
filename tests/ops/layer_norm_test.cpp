#include "tensor/ops/layer_norm.h"

#include <cmath>
#include <limits>

#include "tensor/error.h"
#include "tests/support/errors.h"
#include "tests/support/oracle_ops.h"

namespace tessera::test {
namespace {

class LayerNormTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, LayerNormTest, each_isa(), isa_name);

/// The definition, with weight and bias over the last axes, or undefined.
Array naive_layer_norm(const Tensor& x, const Shape& normalized, const Tensor& weight,
                       const Tensor& bias, double eps) {
  Axes axes;
  for (index_t axis = x.rank() - normalized.size(); axis < x.rank(); ++axis) axes.push_back(axis);
  Array y = naive_normalize(array(x), axes, eps);
  if (weight.defined()) y = map(y, array(weight), std::multiplies<>());
  if (bias.defined()) y = map(y, array(bias), std::plus<>());
  return y;
}

TEST_P(LayerNormTest, AgreesWithTheDefinition) {
  const struct {
    Shape shape, normalized;
  } cases[] = {{{1}, {1}},         {{5, 1}, {1}},         {{4, 7}, {7}},          {{3, 16}, {16}},
               {{2, 3, 33}, {33}}, {{2, 3, 33}, {3, 33}}, {{2, 3, 4}, {2, 3, 4}}, {{0, 4}, {4}},
               {{4, 0}, {0}}};
  for (DType dtype : {kFloat32, kFloat64}) {
    for (const auto& [shape, normalized] : cases) {
      const Tensor weight = random_tensor(normalized, dtype, 2);
      const Tensor bias = random_tensor(normalized, dtype, 3);
      for (const Layout& x : random_layouts(shape, dtype, 1)) {
        for (const Tensor& w : {weight, Tensor()}) {
          for (const Tensor& b : {bias, Tensor()}) {
            SCOPED_TRACE(str_cat(x.name, ", shape ", shape, ", over ", normalized, ", ", dtype,
                                 ", weight ", w.defined(), ", bias ", b.defined()));
            const Tensor got = layer_norm(x.tensor, normalized, w, b, 1e-3);
            EXPECT_EQ(got.dtype(), dtype);
            EXPECT_TRUE(got.is_contiguous());
            EXPECT_TRUE(near(got, naive_layer_norm(x.tensor, normalized, w, b, 1e-3),
                             10 * tolerance(dtype), 20 * tolerance(dtype)));
            EXPECT_TRUE(same_bits(got, layer_norm(x.tensor.clone(), normalized, w, b, 1e-3)));
          }
        }
      }
    }
  }
}

TEST_P(LayerNormTest, TakesItsAxesFromTheWeight) {
  const Tensor x = random_tensor({2, 3, 5}, kFloat32, 4);
  const Tensor matrix = random_tensor({3, 5}, kFloat32, 5);
  EXPECT_TRUE(same_bits(layer_norm(x, matrix), layer_norm(x, {3, 5}, matrix, {})));
  EXPECT_TRUE(same_bits(layer_norm(x, {}, matrix, 1e-5), layer_norm(x, {3, 5}, {}, matrix)));
  EXPECT_TRUE(same_bits(layer_norm(x), layer_norm(x, {5}, {}, {})));
}

TEST_P(LayerNormTest, TakesParametersOfEveryLayout) {
  const Tensor x = random_tensor({2, 3, 5}, kFloat64, 6);
  for (const Layout& weight : random_layouts({3, 5}, kFloat64, 7)) {
    for (const Layout& bias : random_layouts({3, 5}, kFloat64, 8)) {
      EXPECT_TRUE(same_bits(layer_norm(x, weight.tensor, bias.tensor),
                            layer_norm(x, weight.tensor.clone(), bias.tensor.clone())))
          << weight.name << ", bias " << bias.name;
      EXPECT_TRUE(near(layer_norm(x, weight.tensor, bias.tensor),
                       naive_layer_norm(x, {3, 5}, weight.tensor, bias.tensor, 1e-5), 1e-12,
                       1e-12));
    }
  }
}

TEST_P(LayerNormTest, SurvivesALargeMean) {
  const Tensor noise = random_tensor({4, 100}, kFloat64, 9);
  const Array want = naive_layer_norm(noise, {100}, {}, {}, 1e-5);
  Array shifted = array(noise);
  for (double& value : shifted.values) value += 1e6;
  EXPECT_TRUE(near(layer_norm(from_vector(shifted.values, {4, 100})), want, 0, 1e-8));

  const Tensor rounded = from_vector(shifted.values, {4, 100}).to(kFloat32);  // 1/16 apart
  EXPECT_TRUE(
      near(layer_norm(rounded), naive_layer_norm(rounded, {100}, {}, {}, 1e-5), 1e-5, 1e-5));
}

TEST_P(LayerNormTest, OfAConstantRowIsTheBias) {
  const Tensor bias = random_tensor({23}, kFloat32, 10);
  const Tensor weight = random_tensor({23}, kFloat32, 11);
  for (double value : {0.0, 1.0, -3.5, 0.1, 1e6}) {
    EXPECT_TRUE(exactly(layer_norm(full({1, 23}, value), weight, bias).select(0, 0), array(bias)))
        << value;
  }
}

TEST_P(LayerNormTest, NanSpreadsOverItsRowOnly) {
  for (index_t i = 0; i < 21; ++i) {
    Tensor x = random_tensor({2, 21}, kFloat32, 12);
    const Tensor untouched = layer_norm(x.select(0, 1));
    x.select(0, 0).slice(0, i, i + 1).fill(std::numeric_limits<double>::quiet_NaN());
    const Tensor got = layer_norm(x);
    for (float value : got.select(0, 0).to_vector<float>()) EXPECT_TRUE(std::isnan(value)) << i;
    EXPECT_TRUE(same_bits(got.select(0, 1), untouched));
  }
}

TEST_P(LayerNormTest, NeitherThreadsNorNeighboursChangeTheBits) {
  const Tensor x = random_tensor({301, 257}, kFloat32, 13);
  const Tensor weight = random_tensor({257}, kFloat32, 14);
  set_thread_count(1);
  const Tensor want = layer_norm(x, weight);
  for (int threads : {2, 3, 4, 7, 8}) {
    set_thread_count(threads);
    EXPECT_TRUE(same_bits(layer_norm(x, weight), want)) << threads;
  }
  set_thread_count(0);
  for (index_t i = 0; i < 301; i += 30) {
    EXPECT_TRUE(same_bits(layer_norm(x.select(0, i), weight), want.select(0, i))) << i;
  }
}

TEST(LayerNorm, NamesWhatIsWrong) {
  const Tensor x = zeros({2, 3});
  EXPECT_TRUE(throws("layer_norm", {"(2, 3)", "(4,)"}, [&] { layer_norm(x, zeros({4})); }));
  EXPECT_TRUE(throws("layer_norm", {"(2, 3)", "(1, 2, 3)"}, [&] {
    layer_norm(x, zeros({1, 2, 3}));
  }));
  EXPECT_TRUE(throws("layer_norm", {"bias", "(1,)", "(3,)"},
                     [&] { layer_norm(x, zeros({3}), zeros({1})); }));
  EXPECT_TRUE(throws("layer_norm", {"weight must be float32", "got float64"},
                     [&] { layer_norm(x, zeros({3}, kFloat64)); }));
  EXPECT_TRUE(throws("layer_norm", {"int64"}, [] { layer_norm(tensor({1, 2})); }));
  EXPECT_TRUE(throws("layer_norm", {"()"}, [] { layer_norm(tensor(1.0)); }));
  EXPECT_TRUE(throws("layer_norm", {"float32"}, [] { layer_norm(Tensor()); }));
  EXPECT_TRUE(throws("layer_norm", {"eps must be at least 0, got -1"},
                     [&] { layer_norm(x, Tensor(), Tensor(), -1); }));
  EXPECT_TRUE(throws("layer_norm", {"eps must be at least 0, got nan"},
                     [&] { layer_norm(x, {3}, Tensor(), Tensor(), std::nan("")); }));
}

}  // namespace
}  // namespace tessera::test
