// Gradients have the same bits for any number of threads, any layout of the ids, and AVX2 or
// AVX-512: one recorded digest for all gradients of a small model, as in bits_test.cpp.
#include <iostream>

#include "tessera/models/models.h"
#include "tests/support/digest.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

constexpr index_t kBatch = 8;
constexpr index_t kTokens = 131;
constexpr index_t kWords = 101;
constexpr index_t kClasses = 23;
constexpr index_t kWidth = 100;

/// A token classifier without attention; with an RMS norm it also has other modern parts: a gated
/// network, and a layer norm without bias.
template <class FirstNorm>
struct Model {
  static constexpr bool kIsModern = std::is_same_v<FirstNorm, nn::RMSNorm>;

  nn::Embedding table;
  FirstNorm norm1{kWidth};
  nn::FeedForward feed_forward;
  nn::LayerNorm norm2{{.normalized_shape = {kWidth}, .bias = !kIsModern}};
  nn::Linear head;

  Model(Activation activation, Rng& rng)
      : table(kWords, kWidth, rng),
        feed_forward({.d_model = kWidth,
                      .dim_feedforward = 52,
                      .activation = activation,
                      .dropout = 0,
                      .gated = kIsModern},
                     rng),
        head(kWidth, kClasses, rng) {}

  /// The log of each class's probability, smoothed by the probabilities themselves.
  Tensor operator()(const Tensor& ids) const {
    const Tensor x = table(ids);
    const Tensor logits = head(norm2(feed_forward(norm1(x), x)));
    return kIsModern ? log_softmax(logits) : log_softmax(logits) + softmax(logits);
  }

  static void visit(auto& self, auto&& visitor) {
    visitor("table", self.table);
    visitor("norm1", self.norm1);
    visitor("feed_forward", self.feed_forward);
    visitor("norm2", self.norm2);
    visitor("head", self.head);
  }
};

/// Numbers below `limit`, some of which are frequent.
Tensor random_ids(index_t limit, std::uint64_t seed) {
  const Tensor x = random_tensor({kBatch, kTokens}, kFloat64, seed, 0, 1);
  return (square(x) * static_cast<double>(limit)).to(kInt64);
}

/// The digest of all gradients after one backward, or after several that add up.
template <class M>
std::string gradient_digest(M& model, const Tensor& ids, const Tensor& labels, int passes) {
  nn::zero_grad(model);
  Tape tape;
  for (int pass = 0; pass < passes; ++pass) {
    tape.backward(-mean(gather(model(ids), -1, labels.unsqueeze(-1))));
  }
  Digest digest;
  nn::for_each_parameter(model, [&](const std::string& name, Tensor& p) {
    ASSERT_TRUE(p.grad().defined()) << name;
    digest.add(p.grad());
  });
  return digest.text();
}

using GradientBitsTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, GradientBitsTest, each_isa(), isa_name);

const std::map<std::string, WrittenDigests> kDigests = {
    {"gelu", {{"35b3c6029d140c56", "3ce6e232fe9055be"}, {"f556694fdb9cd552", "521cb716a2913103"}}},
    {"gelu_tanh",
     {{"7f3bc071159a8505", "da1dd6c904f89782"}, {"19e1d003d674b7bb", "5934da77d0283f13"}}},
    {"relu", {{"7cfd5da94e911055", "88e7e82c31f55b8f"}, {"ea32897bb447493c", "af5b8d25bc247a73"}}},
    {"geglu", {{"b7c4f69e957b69d0", "a7a1e7d9ff5df23b"}, {"5d69405dd378fba8", "cc19cd3850202dc1"}}},
    {"swiglu",
     {{"088a744e0d070837", "27c4bcb204b36d35"}, {"82ffc8d7244ba88c", "2f29b7ede4c40e39"}}},
};

template <class M>
void expect_digests(const std::map<std::string, Activation>& activations) {
  const Tensor ids = random_ids(kWords, 61);
  const Tensor labels = random_ids(kClasses, 62);
  const Tensor strided = ids.t().clone().t();
  for (const auto& [name, activation] : activations) {
    for (DType dtype : {kFloat32, kFloat64}) {
      SCOPED_TRACE(str_cat(name, ", ", dtype));
      Rng rng(5);
      M model(activation, rng);
      nn::convert(model, dtype);
      nn::set_requires_grad(model);
      const std::string one = gradient_digest(model, ids, labels, 1);
      const std::string two = gradient_digest(model, ids, labels, 2);
      EXPECT_NE(one, two);
      EXPECT_EQ(one, kDigests.at(name).of(dtype)) << "as written down";
      for (int threads : {1, 2, 3, 4, 7, 8}) {
        set_thread_count(threads);
        EXPECT_EQ(gradient_digest(model, ids, labels, 1), one) << threads << " threads";
      }
      set_thread_count(3);
      EXPECT_EQ(gradient_digest(model, strided, labels, 1), one) << "strided ids";
      EXPECT_EQ(gradient_digest(model, ids, labels, 2), two) << "two passes that add up";
      set_thread_count(0);
      std::cout << one << "  " << dtype << "  " << name << "\n";
    }
  }
}

TEST_P(GradientBitsTest, OneDigestForEveryNumberOfThreads) {
  expect_digests<Model<nn::LayerNorm>>({{"gelu", Activation::kGelu},
                                        {"gelu_tanh", Activation::kGeluTanh},
                                        {"relu", Activation::kRelu}});
}

TEST_P(GradientBitsTest, OneDigestOfTodaysParts) {
  expect_digests<Model<nn::RMSNorm>>({{"geglu", Activation::kGelu}, {"swiglu", Activation::kSilu}});
}

}  // namespace
}  // namespace tessera::test
