#include "tests/support/golden_models.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

TEST(Golden, EveryModuleFileHasItsParts) {
  std::vector<std::string> names;
  for (const char* prefix : {"encoder", "gradients_", "mha_", "run_encoder"}) {
    for (const std::string& name : golden_names(prefix)) names.push_back(name);
  }
  EXPECT_EQ(names.size(), 54U);
  for (const std::string& name : names) {
    SCOPED_TRACE(name);
    const GoldenCase golden(name);
    const Tensor first = golden.input(golden.has_input("src") ? "src" : "query", kFloat64);
    EXPECT_EQ(first.dtype(), kFloat64);
    EXPECT_EQ(golden.output().dtype(), kFloat64);
    EXPECT_EQ(golden.output().shape(), first.shape());
    EXPECT_FALSE(golden.state().empty());
    for (const auto& [parameter, value] : golden.state()) {
      EXPECT_EQ(value.dtype(), kFloat32) << parameter;
      EXPECT_FALSE(parameter.starts_with("state.")) << parameter;
    }
  }
}

TEST(Golden, RealPositionsAreThoseBeforeTheLengths) {
  const GoldenCase golden("encoder_layer_post_relu_padding_36");
  const auto lengths = golden.array("lengths").to_vector<index_t>();
  EXPECT_EQ(lengths, (std::vector<index_t>{7, 4, 2}));
  for (index_t b = 0; b < 3; ++b) {
    for (index_t t = 0; t < 7; ++t) {
      EXPECT_EQ(golden.is_real(b, t), t < lengths[static_cast<std::size_t>(b)]) << b << ", " << t;
    }
  }
  EXPECT_TRUE(GoldenCase("mha_cross").is_real(2, 6));
}

}  // namespace
}  // namespace tessera::test
