// PyTorch's results and gradients with the same weights: float32 within 1e-5, float64 within 1e-12.
#include "tessera/models/models.h"
#include "tests/support/golden_models.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

double allowed(DType dtype) {
  return dtype == kFloat32 ? 1e-5 : 1e-12;
}

/// Compares the positions that are not padding.
void expect_output(const GoldenCase& golden, const Tensor& got, bool batch_first,
                   double tolerance) {
  ASSERT_EQ(got.shape(), golden.output().shape());
  const Tensor have = batch_first ? got : got.transpose(0, 1);
  const Tensor want = batch_first ? golden.output() : golden.output().transpose(0, 1);
  for (index_t b = 0; b < have.size(0); ++b) {
    for (index_t t = 0; t < have.size(1); ++t) {
      if (!golden.is_real(b, t)) continue;
      ASSERT_TRUE(
          near(have.select(0, b).select(0, t), array(want.select(0, b).select(0, t)), 0, tolerance))
          << "sequence " << b << ", token " << t;
    }
  }
}

/// Calls `body(mask)` in each dtype and instruction set, with the file's masks.
template <class Model, class Body>
void for_each_mask(const GoldenCase& golden, Model& model, const Body& body) {
  const index_t heads = golden.option("nhead");
  const std::string before = current_isa();
  for (DType dtype : {kFloat32, kFloat64}) {
    nn::convert(model, dtype);
    for (const std::string& isa : available_isas()) {
      SCOPED_TRACE(str_cat(golden.name(), ", ", dtype, ", ", isa));
      set_isa(isa);
      body(dtype, mask_of(golden, heads, dtype));
      if (golden.has("lengths")) body(dtype, mask_by_lengths(golden, heads, dtype));
    }
  }
  set_isa(before);
}

template <class Model>
void check_model(const GoldenCase& golden, Model model) {
  nn::load_state_dict(model, golden.state());
  nn::eval(model);
  const bool batch_first = golden.option("batch_first") != 0;
  for_each_mask(golden, model, [&](DType dtype, const AttentionMask& mask) {
    const Tensor got = model(golden.input("src", dtype), mask);
    EXPECT_EQ(got.dtype(), dtype);
    expect_output(golden, got, batch_first, allowed(dtype));
  });
}

TEST(Parity, EncoderLayers) {
  const auto names = golden_names("encoder_layer_");
  EXPECT_EQ(names.size(), 22U);
  for (const std::string& name : names) {
    const GoldenCase golden(name);
    check_model(golden, models::EncoderLayer(layer_options(golden)));
  }
}

TEST(Parity, Encoders) {
  auto names = golden_names("encoder_");
  std::erase_if(names, [](const std::string& name) { return name.starts_with("encoder_layer_"); });
  EXPECT_EQ(names.size(), 5U);
  for (const std::string& name : names) {
    const GoldenCase golden(name);
    check_model(golden, models::Encoder({.layers = models::repeat_layer(
                                             layer_options(golden), golden.option("num_layers")),
                                         .final_norm = golden.option("final_norm") != 0}));
  }
}

/// Each element relative to itself, or, if it is far below the largest one, relative to that.
void expect_gradient(const GoldenCase& golden, const Tensor& got, const std::string& name) {
  const Array want = array(golden.array("gradient." + name));
  double largest = 0;
  for (double value : want.values) largest = std::max(largest, std::fabs(value));
  ASSERT_TRUE(got.defined()) << name;
  EXPECT_TRUE(near(got, want, allowed(got.dtype()), 0.1 * allowed(got.dtype()) * largest)) << name;
}

TEST(Parity, GradientsOfEncoderLayers) {
  const auto names = golden_names("gradients_");
  EXPECT_EQ(names.size(), 17U);
  for (const std::string& name : names) {
    const GoldenCase golden(name);
    models::EncoderLayer layer(layer_options(golden));
    nn::load_state_dict(layer, golden.state());
    nn::set_requires_grad(layer);
    for_each_mask(golden, layer, [&](DType dtype, const AttentionMask& mask) {
      nn::zero_grad(layer);
      const Tensor x = golden.input("src", dtype).set_requires_grad();
      Tape tape;
      tape.backward(sum(layer(x, mask) * golden.array("loss_weights").to(dtype)));
      expect_gradient(golden, x.grad(), "src");
      nn::for_each_parameter(layer, [&](const std::string& parameter, const Tensor& p) {
        expect_gradient(golden, p.grad(), parameter);
      });
    });
  }
}

TEST(Parity, MultiHeadAttention) {
  const auto names = golden_names("mha_");
  EXPECT_EQ(names.size(), 9U);
  for (const std::string& name : names) {
    const GoldenCase golden(name);
    nn::MultiHeadAttention module({.embed_dim = golden.option("embed_dim"),
                                   .num_heads = golden.option("num_heads"),
                                   .bias = golden.option("bias") != 0,
                                   .kdim = golden.option("kdim"),
                                   .vdim = golden.option("vdim"),
                                   .batch_first = golden.option("batch_first") != 0});
    nn::load_state_dict(module, golden.state());
    std::optional<AttentionRequest> weights;
    if (golden.option("need_weights") != 0) {
      weights = AttentionRequest{.averaged = golden.option("average_attn_weights") != 0};
    }
    for (DType dtype : {kFloat32, kFloat64}) {
      SCOPED_TRACE(str_cat(name, ", ", dtype));
      nn::convert(module, dtype);
      const Tensor query = golden.input("query", dtype);
      const Tensor key = golden.has_input("key") ? golden.input("key", dtype) : query;
      const Tensor value = golden.has_input("value") ? golden.input("value", dtype) : query;
      const AttentionResult got = module({.query = query,
                                          .key = key,
                                          .value = value,
                                          .mask = mask_of(golden, module.num_heads, dtype),
                                          .need_weights = weights});
      expect_output(golden, got.output, module.batch_first, allowed(dtype));
      ASSERT_EQ(got.weights.defined(), golden.has("weights"));
      if (golden.has("weights")) {
        EXPECT_TRUE(near(got.weights, array(golden.weights()), 0, allowed(dtype)));
      }
    }
  }
}

}  // namespace
}  // namespace tessera::test
