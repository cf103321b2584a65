// The gradients that PyTorch computes for an encoder layer with the same weights: float32 within
// 1e-5, float64 within 1e-12.
#include "models/models.h"
#include "tests/support/golden_models.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

/// Each element relative to itself, or, if it is far below the largest one, relative to that.
void expect_gradient(const Tensor& got, const Array& want, DType dtype, const std::string& name) {
  double largest = 0;
  for (double value : want.values) largest = std::max(largest, std::fabs(value));
  const double allowed = dtype == kFloat32 ? 1e-5 : 1e-12;
  ASSERT_TRUE(got.defined()) << name;
  EXPECT_TRUE(near(got, want, allowed, 0.1 * allowed * largest)) << name;
}

void check_gradients(const GoldenCase& golden, models::EncoderLayer& layer,
                     const AttentionMask& mask, DType dtype) {
  nn::zero_grad(layer);
  Tensor x = golden.input("src", dtype).set_requires_grad();
  Tape tape;
  tape.backward(sum(layer(x, mask) * golden.array("loss_weights").to(dtype)));
  expect_gradient(x.grad(), array(golden.array("gradient.src")), dtype, "src");
  nn::for_each_parameter(layer, [&](const std::string& name, const Tensor& parameter) {
    expect_gradient(parameter.grad(), array(golden.array("gradient." + name)), dtype, name);
  });
}

TEST(GradientParity, EncoderLayers) {
  const auto names = golden_names("gradients_");
  EXPECT_EQ(names.size(), 17U);
  const std::string before = current_isa();
  for (const std::string& name : names) {
    const GoldenCase golden(name);
    const index_t heads = golden.option("nhead");
    models::EncoderLayer layer(layer_options(golden));
    nn::load_state_dict(layer, golden.state());
    nn::set_requires_grad(layer);
    for (DType dtype : {kFloat32, kFloat64}) {
      nn::convert(layer, dtype);
      for (const std::string& isa : available_isas()) {
        SCOPED_TRACE(str_cat(name, ", ", dtype, ", ", isa));
        set_isa(isa);
        check_gradients(golden, layer, mask_of(golden, heads, dtype), dtype);
        if (golden.has("lengths")) {
          check_gradients(golden, layer, mask_by_lengths(golden, heads, dtype), dtype);
        }
      }
    }
  }
  set_isa(before);
}

}  // namespace
}  // namespace tessera::test
