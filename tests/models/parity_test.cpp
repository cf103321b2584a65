// PyTorch's results with the same weights: float32 within 1e-5, float64 within 1e-12.
#include "models/encoder.h"
#include "nn/module.h"
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

/// Runs a model over (src, mask) with the file's weights, in each dtype and instruction set.
template <class Model>
void check_model(const GoldenCase& golden, Model model) {
  nn::load_state_dict(model, golden.state());
  nn::eval(model);
  const index_t heads = golden.option("nhead");
  const bool batch_first = golden.option("batch_first") != 0;
  const std::string before = current_isa();
  for (DType dtype : {kFloat32, kFloat64}) {
    nn::convert(model, dtype);
    for (const std::string& isa : available_isas()) {
      SCOPED_TRACE(str_cat(golden.name(), ", ", dtype, ", ", isa));
      set_isa(isa);
      const Tensor x = golden.input("src", dtype);
      const Tensor got = model(x, mask_of(golden, heads, dtype));
      EXPECT_EQ(got.dtype(), dtype);
      expect_output(golden, got, batch_first, allowed(dtype));
      if (golden.has("lengths")) {
        expect_output(golden, model(x, mask_by_lengths(golden, heads, dtype)), batch_first,
                      allowed(dtype));
      }
    }
  }
  set_isa(before);
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

nn::MultiHeadAttention make_attention(const GoldenCase& golden) {
  nn::MultiHeadAttention module({.embed_dim = golden.option("embed_dim"),
                                 .num_heads = golden.option("num_heads"),
                                 .bias = golden.option("bias") != 0,
                                 .kdim = golden.option("kdim"),
                                 .vdim = golden.option("vdim"),
                                 .batch_first = golden.option("batch_first") != 0});
  nn::load_state_dict(module, golden.state());
  return module;
}

TEST(Parity, MultiHeadAttention) {
  const auto names = golden_names("mha_");
  EXPECT_EQ(names.size(), 9U);
  for (const std::string& name : names) {
    const GoldenCase golden(name);
    nn::MultiHeadAttention module = make_attention(golden);
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
                                          .weights = weights});
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
