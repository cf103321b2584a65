#include "tessera/tensor/random.h"

#include <bit>
#include <numbers>

#include "tessera/tensor/create.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

using test::fails;

/// Moments of a floating tensor.
struct Moments {
  explicit Moments(const Tensor& x) {
    const std::vector<double> values = x.to(kFloat64).to_vector<double>();
    const auto n = static_cast<double>(values.size());
    for (const double v : values) mean += v / n;
    double fourth = 0;
    for (const double v : values) {
      const double d = v - mean;
      variance += d * d / n;
      fourth += d * d * d * d / n;
    }
    kurtosis = fourth / (variance * variance);
  }
  double mean = 0, variance = 0, kurtosis = 0;
};

// The known answers of Random123's kat_vectors, "philox4x32 10".
TEST(Philox, KnownAnswers) {
  EXPECT_EQ(philox({0, 0, 0, 0}, {0, 0}),
            (PhiloxBlock{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}));
  constexpr std::uint32_t kOnes = 0xffffffff;
  EXPECT_EQ(philox({kOnes, kOnes, kOnes, kOnes}, {kOnes, kOnes}),
            (PhiloxBlock{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}));
  EXPECT_EQ(philox({0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344}, {0xa4093822, 0x299f31d0}),
            (PhiloxBlock{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}));
}

TEST(Rng, WordsAreThoseOfTheBlocks) {
  Rng rng;
  for (const std::uint32_t word : {0x6627e8d5u, 0xe169c58du, 0xbc57ac4cu, 0x9b00dbd8u}) {
    EXPECT_EQ(rng.next_u32(), word);
  }
  EXPECT_EQ(rng.next_u32(), rng.block(1)[0]);
  EXPECT_EQ(Rng().next_u64(), 0xe169c58d6627e8d5u);

  const Rng pi(0x299f31d0a4093822, 0x0370734413198a2e);
  EXPECT_EQ(pi.block(0x85a308d3243f6a88)[3], 0x24126ea1u);
}

TEST(Rng, StateComesBack) {
  Rng rng(3, 5);
  rng.next_u32();
  const Rng::State state = rng.state();
  const std::vector<float> first = rand({7}, kFloat32, rng).to_vector<float>();
  Rng other;
  other.set_state(state);
  EXPECT_EQ(rand({7}, kFloat32, other).to_vector<float>(), first);
  EXPECT_EQ(other.state(), rng.state());
}

TEST(Rng, SeedsAndStreamsDiffer) {
  std::set<std::uint32_t> words;
  for (std::uint64_t seed : {0ull, 1ull, 1ull << 32, 1ull << 63}) {
    for (std::uint64_t stream : {0ull, 1ull, 1ull << 32}) {
      Rng rng(seed, stream);
      for (int i = 0; i < 8; ++i) words.insert(rng.next_u32());
    }
  }
  EXPECT_EQ(words.size(), 4u * 3 * 8);
}

TEST(Rng, DrawsDoNotOverlap) {
  Rng rng(1);
  std::set<double> values;
  for (const index_t n : {1, 2, 3, 5, 1}) {
    for (const double v : rand({n}, kFloat64, rng).to_vector<double>()) values.insert(v);
    values.insert(rng.next_u32() * 2.0);  // leaves the generator within a block
  }
  EXPECT_EQ(values.size(), 12u + 5);
}

TEST(Rng, ManualSeedStartsAnew) {
  manual_seed(11);
  const auto first = randn({5}).to_vector<float>();
  const auto second = randn({5}).to_vector<float>();
  EXPECT_NE(first, second);
  manual_seed(11);
  EXPECT_EQ(randn({5}).to_vector<float>(), first);
  Rng own(11);
  EXPECT_EQ(randn({5}, kFloat32, own).to_vector<float>(), first);
}

TEST(Random, ElementsDependOnNothingButStateAndIndex) {
  const auto draw_all = [] {
    Rng rng(42);
    std::vector<double> all;
    const auto add = [&](const Tensor& x) {
      for (const double v : x.to(kFloat64).to_vector<double>()) all.push_back(v);
    };
    add(rand({100003}, kFloat32, rng));
    add(rand({100003}, kFloat64, rng));
    add(randn({300, 333}, kFloat32, rng));
    add(randint(-5, 1000, {100001}, rng));
    add(bernoulli(0.3, {100001}, rng));
    return all;
  };
  set_thread_count(1);
  const std::vector<double> serial = draw_all();
  for (const int threads : {2, 3, 7}) {
    set_thread_count(threads);
    EXPECT_EQ(draw_all(), serial) << threads << " threads";
  }
  set_thread_count(0);

  Rng a(9);
  Rng b(9);
  const auto longer = randn({1000}, kFloat32, a).to_vector<float>();
  const auto shorter = randn({3, 3}, kFloat32, b).to_vector<float>();
  EXPECT_TRUE(std::equal(shorter.begin(), shorter.end(), longer.begin()));
}

TEST(Random, UniformLiesInItsRange) {
  Rng rng(1);
  for (const DType dtype : {kFloat32, kFloat64}) {
    const Moments unit(rand({200000}, dtype, rng));
    EXPECT_NEAR(unit.mean, 0.5, 0.004);
    EXPECT_NEAR(unit.variance, 1.0 / 12, 0.001);
    EXPECT_NEAR(unit.kurtosis, 1.8, 0.02);
    const auto values = uniform(-3, 5, {100000}, dtype, rng).to(kFloat64).to_vector<double>();
    const auto [low, high] = std::minmax_element(values.begin(), values.end());
    EXPECT_GE(*low, -3);
    EXPECT_LT(*low, -2.99);
    EXPECT_LT(*high, 5);
    EXPECT_GT(*high, 4.99);
  }
}

TEST(Random, UniformNeverRoundsUpToHigh) {
  // Between 2^24 and 2^24 + 2 there is no float32: every draw must be the lower one.
  const auto values = uniform(16777216, 16777218, {1000}).to_vector<float>();
  EXPECT_EQ(*std::max_element(values.begin(), values.end()), 16777216.0f);
}

TEST(Random, NormalIsBoxMullersFormula) {
  Rng rng(4);
  const auto values = randn({20000}, kFloat64, rng).to_vector<double>();
  const auto rounded = [] {
    Rng same(4);
    return randn({20000}, kFloat32, same).to_vector<float>();
  }();
  for (std::size_t i = 0; i < values.size(); i += 2) {
    const PhiloxBlock w = rng.block(i / 2);
    const auto unit = [&](std::size_t k) {
      return std::ldexp(static_cast<double>((w[k] | std::uint64_t{w[k + 1]} << 32) >> 11), -53);
    };
    const double radius = std::sqrt(-2 * std::log(unit(0) + 0x1p-53));
    const double angle = 2 * std::numbers::pi * unit(2);
    ASSERT_NEAR(values[i], radius * std::cos(angle), 1e-14) << i;
    ASSERT_NEAR(values[i + 1], radius * std::sin(angle), 1e-14) << i;
    ASSERT_EQ(rounded[i], static_cast<float>(values[i])) << i;
  }
}

// The bits must be these on every compiler, processor and C library.
TEST(Random, SameBitsEverywhere) {
  Rng rng(123);
  std::uint64_t digest = 14695981039346656037u;  // FNV-1a, over 64-bit words
  for (const double v : randn({4096}, kFloat64, rng).to_vector<double>()) {
    digest = (digest ^ std::bit_cast<std::uint64_t>(v)) * 1099511628211u;
  }
  EXPECT_EQ(digest, 1283015237188988218u);
}

TEST(Random, Randint) {
  Rng rng(5);
  std::array<int, 6> counts{};
  for (const index_t v : randint(-2, 4, {60000}, rng).to_vector<index_t>()) {
    ASSERT_TRUE(v >= -2 && v < 4) << v;
    ++counts[static_cast<std::size_t>(v + 2)];
  }
  for (const int count : counts) EXPECT_NEAR(count, 10000, 500);
  EXPECT_EQ(randint(7, 8, {3}, rng).to_vector<index_t>(), (std::vector<index_t>{7, 7, 7}));

  constexpr index_t kMin = std::numeric_limits<index_t>::min();
  constexpr index_t kMax = std::numeric_limits<index_t>::max();
  int negative = 0;
  for (const index_t v : randint(kMin, kMax, {1000}, rng).to_vector<index_t>()) negative += v < 0;
  EXPECT_NEAR(negative, 500, 80);
}

TEST(Random, Bernoulli) {
  Rng rng(6);
  for (const double keep : {0.0, 0.1, 0.5, 0.9, 1.0}) {
    int kept = 0;
    for (const bool v : bernoulli(keep, {100000}, rng).to_vector<bool>()) kept += v;
    EXPECT_NEAR(kept, keep * 1e5, keep == 0 || keep == 1 ? 0 : 700) << keep;
  }
}

TEST(Random, Permutation) {
  Rng rng(7);
  std::vector<index_t> order = permutation(1000, rng).to_vector<index_t>();
  EXPECT_FALSE(std::is_sorted(order.begin(), order.end()));
  std::sort(order.begin(), order.end());
  for (index_t i = 0; i < 1000; ++i) ASSERT_EQ(order[static_cast<std::size_t>(i)], i);
  EXPECT_EQ(permutation(0, rng).count(), 0);

  std::array<int, 9> places{};  // of each number: all equally often
  for (int i = 0; i < 9000; ++i) {
    const auto three = permutation(3, rng).to_vector<index_t>();
    for (std::size_t k = 0; k < 3; ++k) ++places[k * 3 + static_cast<std::size_t>(three[k])];
  }
  for (const int count : places) EXPECT_NEAR(count, 3000, 200);
}

TEST(Random, EmptyShapes) {
  Rng rng(8);
  EXPECT_EQ(randn({0, 3}, kFloat32, rng).shape(), (Shape{0, 3}));
  EXPECT_EQ(rng.state().position, 0u);
  EXPECT_EQ(rand({}, kFloat32, rng).rank(), 0);
}

TEST(Random, LikeAnotherTensor) {
  const Tensor x = Tensor::empty({3, 4}, kFloat64).t();
  Rng a(9), b(9);
  EXPECT_EQ(rand_like(x, {}, a).to_vector<double>(), rand({4, 3}, kFloat64, b).to_vector<double>());
  EXPECT_EQ(randn_like(x, {}, a).to_vector<double>(),
            randn({4, 3}, kFloat64, b).to_vector<double>());
  EXPECT_EQ(randn_like(x, kFloat32, a).to_vector<float>(),
            randn({4, 3}, kFloat32, b).to_vector<float>());
  EXPECT_EQ(rand_like(arange(2), kFloat32, a).to_vector<float>(),
            rand({2}, kFloat32, b).to_vector<float>());
  fails("rand_like", "int64", [] { rand_like(arange(2)); });
  fails("randn_like", "int64", [] { randn_like(arange(2)); });
  EXPECT_THROW(rand_like(Tensor()), std::invalid_argument);
  EXPECT_THROW(randn_like(Tensor()), std::invalid_argument);
}

TEST(Random, RefusesWhatMakesNoSense) {
  EXPECT_THROW(rand({2}, kInt64), std::invalid_argument);
  EXPECT_THROW(randn({2}, kBool), std::invalid_argument);
  EXPECT_THROW(uniform(1, 1, {2}), std::invalid_argument);
  EXPECT_THROW(uniform(0, std::numeric_limits<double>::infinity(), {2}), std::invalid_argument);
  EXPECT_THROW(uniform(std::nan(""), 1, {2}), std::invalid_argument);
  EXPECT_THROW(uniform(1e300, 2e300, {2}), std::invalid_argument);
  EXPECT_GE(uniform(1e300, 2e300, {1}, kFloat64).item(), 1e300);
  EXPECT_THROW(randint(3, 3, {2}), std::invalid_argument);
  EXPECT_THROW(bernoulli(1.5, {2}), std::invalid_argument);
  EXPECT_THROW(bernoulli(std::nan(""), {2}), std::invalid_argument);
  EXPECT_THROW(permutation(-1), std::invalid_argument);
}

}  // namespace
}  // namespace tessera
