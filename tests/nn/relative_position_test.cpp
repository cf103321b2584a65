#include "tessera/nn/relative_position.h"

#include "tessera/nn/nn.h"
#include "tests/support/golden.h"
#include "tests/support/nn_oracle.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

const GoldenCase& golden() {
  static const GoldenCase file("relative_position");
  return file;
}

RelativePositionBias make(const Tensor& weight, const DistanceBuckets& distances) {
  RelativePositionBias module({.num_heads = weight.size(1), .distances = distances});
  module.weight = weight.clone();
  return module;
}

TEST(DistanceBuckets, AreT5s) {
  for (const bool bidirectional : {true, false}) {
    for (const auto& [buckets, farthest] :
         {std::pair{32, 128}, {16, 64}, {8, 20}, {64, 256}, {10, 37}}) {
      const DistanceBuckets rule = {buckets, farthest, bidirectional};
      const Tensor want =
          golden().array(str_cat("buckets_", int{bidirectional}, "_", buckets, "_", farthest));
      for (index_t d = -300; d <= 300; ++d) {
        ASSERT_EQ(rule.of(d), want.item_at<index_t>({d + 300}))
            << "distance " << d << ", " << buckets << " buckets up to " << farthest;
      }
      EXPECT_EQ(rule.of(-1000000), rule.of(-farthest));
      EXPECT_EQ(rule.of(std::numeric_limits<index_t>::min()), rule.of(-farthest));
    }
  }
}

TEST(RelativePositionBias, IsTheTablesRowOfEachDistance) {
  for (const bool bidirectional : {true, false}) {
    const DistanceBuckets rule = {8, 20, bidirectional};
    const Tensor weight = random_tensor({8, 3}, kFloat32, 1);
    const RelativePositionBias bias = make(weight, rule);
    for (const auto& [queries, keys] : {std::pair{1, 1}, {5, 9}, {40, 3}, {0, 4}, {4, 0}, {0, 0}}) {
      const Array want = build({3, queries, keys}, [&](const Dims& at) {
        return weight.item_at({rule.of(at[2] - at[1]), at[0]});
      });
      EXPECT_TRUE(exactly(bias(queries, keys), want)) << queries << " x " << keys;
    }
  }
}

TEST(RelativePositionBias, IsNoMatrixInMemory) {
  const RelativePositionBias bias({.num_heads = 4});
  const Tensor view = bias(3000, 2000);
  EXPECT_EQ(view.shape(), (Shape{4, 3000, 2000}));
  EXPECT_EQ(view.strides(), (Strides{4999, -1, 1}));
}

TEST(RelativePositionBias, AgreesWithPyTorch) {
  for (const bool bidirectional : {true, false}) {
    const std::string name = str_cat("bias_", int{bidirectional}, ".");
    for (const DType dtype : {kFloat32, kFloat64}) {
      RelativePositionBias bias = make(golden().array(name + "weight"), {32, 128, bidirectional});
      convert(bias, dtype);
      set_requires_grad(bias);
      Tape tape;
      const Tensor got = bias(140, 6);
      EXPECT_TRUE(exactly(got.detach(), array(golden().array(name + "output"))));
      tape.backward(got, golden().array(name + "dy").to(dtype));
      const double close = dtype == kFloat32 ? 2e-5 : 1e-12;  // of hundreds of numbers
      EXPECT_TRUE(near(bias.weight.grad(), array(golden().array(name + "dweight")), close, close));
    }
  }
}

TEST(RelativePositionBias, InAttentionAgreesWithPyTorch) {
  for (const DType dtype : {kFloat32, kFloat64}) {
    const auto entry = [&](const std::string& key) {
      return golden().array("attention." + key).to(dtype);
    };
    Tensor q = entry("q"), k = entry("k"), v = entry("v");
    RelativePositionBias bias = make(golden().array("attention.weight"), {8, 20});
    convert(bias, dtype);
    set_requires_grad(bias);
    for (Tensor* each : {&q, &k, &v}) each->set_requires_grad();
    Tape tape;
    const Tensor out = attention(q, k, v, additive_mask(bias(33, 40))).output;
    const double close = dtype == kFloat32 ? 1e-5 : 1e-12;
    EXPECT_TRUE(near(out.detach(), array(entry("output")), close, close));
    tape.backward(out, entry("dy"));
    EXPECT_TRUE(near(q.grad(), array(entry("dq")), close, close));
    EXPECT_TRUE(near(k.grad(), array(entry("dk")), close, close));
    EXPECT_TRUE(near(v.grad(), array(entry("dv")), close, close));
    EXPECT_TRUE(near(bias.weight.grad(), array(entry("dweight")), close, close));
  }
}

TEST(RelativePositionBias, Errors) {
  constexpr const char* kName = "RelativePositionBias";
  const auto with = [](index_t heads, const DistanceBuckets& distances) {
    return [=] { RelativePositionBias({.num_heads = heads, .distances = distances}); };
  };
  fails(kName, {"num_heads", "0"}, with(0, {}));
  fails(kName, {"buckets", "even", "5"}, with(2, {5, 128}));
  fails(kName, {"buckets", "2"}, with(2, {2, 128}));
  fails(kName, {"buckets", "1"}, with(2, {1, 128, false}));
  fails(kName, {"max_distance must be above 8", "got 8"}, with(2, {32, 8}));
  fails("DistanceBuckets", {"buckets must be even and at least 4", "got 1"},
        [] { DistanceBuckets{.buckets = 1}.of(3); });
  const RelativePositionBias bias({.num_heads = 2});
  fails(kName, "queries must be at least 0, got -1", [&] { bias(-1, 3); });
}

TEST(Alibi, SlopesAreThePapers) {
  for (const index_t heads : {1, 2, 4, 5, 8, 12, 16, 20}) {
    EXPECT_TRUE(near(alibi_slopes(heads, kFloat64),
                     array(golden().array(str_cat("slopes_", heads))), 1e-14))
        << heads << " heads";
  }
  fails("alibi_slopes", {"heads", "0"}, [] { alibi_slopes(0); });
  fails("alibi_slopes", {"floating", "int64"}, [] { alibi_slopes(4, kInt64); });
}

TEST(Alibi, FallsWithTheDistance) {
  Alibi bias(6);
  const Tensor want = golden().array("alibi");
  EXPECT_TRUE(near(bias(5, 9), array(want), 1e-7));
  EXPECT_EQ(bias(5, 9).dtype(), kFloat32);
  EXPECT_EQ(bias(3000, 2000).strides(), (Strides{4999, -1, 1}));
  convert(bias, kFloat64);
  EXPECT_TRUE(near(bias(5, 9), array(want), 1e-15));
  fails("Alibi", "keys must be at least 0, got -2", [&] { bias(3, -2); });
}

/// The text of the OutOfMemory thrown by f.
template <class F>
std::string out_of_memory(const F& f) {
  try {
    f();
  } catch (const OutOfMemory& error) {
    return error.what();
  }
  return "nothing was thrown";
}

TEST(RelativePositionBias, IsRefusedBeforeItFillsTheMemory) {
  constexpr index_t kMany = 1'000'000'000'000'000;
  const RelativePositionBias bias({.num_heads = 3});
  EXPECT_EQ(out_of_memory([&] { bias(2, kMany); }),
            "RelativePositionBias: sizes must fit into the memory, got 2 queries and "
            "1000000000000000 keys for 3 heads, which need 2e+16 bytes");
  EXPECT_EQ(out_of_memory([&] { Alibi(2)(kMany, 2); }),
            "Alibi: sizes must fit into the memory, got 1000000000000000 queries and 2 keys for 2 "
            "heads, which need 1.6e+16 bytes");
  constexpr index_t kMost = std::numeric_limits<index_t>::max();
  EXPECT_TRUE(out_of_memory([&] { Alibi(2)(kMost, kMost); }).starts_with("Alibi: sizes must"));
  EXPECT_EQ(out_of_memory([] { Alibi{kMany}; }),
            "alibi_slopes: sizes must fit into the memory, got 1000000000000000 heads, which need "
            "8e+15 bytes");
  EXPECT_TRUE(out_of_memory([] {
                RelativePositionBias({.num_heads = kMany});
              }).starts_with("out of memory: "));
}

TEST(Alibi, CombinesWithOtherMasks) {
  const Alibi bias(3);
  const Tensor x = random_tensor({2, 3, 50, 8}, kFloat32, 1);
  const AttentionMask others = causal_mask() & length_mask({50, 20});
  const Tensor got = attention(x, x, x, additive_mask(bias(50, 50)) & others).output;
  EXPECT_TRUE(
      same_bits(got, attention(x, x, x, additive_mask(bias(50, 50).clone()) & others).output));
  EXPECT_FALSE(same_bits(got, attention(x, x, x, others).output));
}

}  // namespace
}  // namespace tessera::nn
