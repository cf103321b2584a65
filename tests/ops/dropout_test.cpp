#include "tessera/tensor/ops/dropout.h"

#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/compare.h"
#include "tessera/tensor/ops/reduce.h"
#include "tessera/tensor/random.h"
#include "tessera/tensor/storage.h"
#include "tests/support/distributions.h"
#include "tests/support/dropout_oracle.h"
#include "tests/support/gradcheck.h"
#include "tests/support/test.h"
#include "tests/support/threads.h"

namespace tessera::test {
namespace {

using DropoutOpTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, DropoutOpTest, each_isa(), isa_name);

constexpr std::uint64_t kKey = 0x0123456789ABCDEF;

/// The definition: factor o x + residual, in double.
Array definition(const Tensor& x, const DropoutOptions& mask, const Tensor& residual) {
  const NaiveDropout drops(mask);
  Array y = array(x);
  for (std::size_t n = 0; n < y.values.size(); ++n) {
    const double factor = drops.of_element(static_cast<index_t>(n));
    y.values[n] = factor == 0 ? 0 : y.values[n] * factor;
    if (residual.defined()) y.values[n] += array(residual).values[n];
  }
  return y;
}

TEST_P(DropoutOpTest, MatchesItsDefinition) {
  for (DType dtype : {kFloat32, kFloat64}) {
    for (const double p : {0.0, 1e-6, 0.1, 0.5, 0.999, 1.0}) {
      for (const Shape& shape : {Shape{}, Shape{1}, Shape{0, 3}, Shape{15}, Shape{16}, Shape{33},
                                 Shape{3, 5, 9}, Shape{8, 32}}) {
        const Tensor x = random_tensor(shape, dtype, 1);
        const Tensor residual = random_tensor(shape, dtype, 2);
        const DropoutOptions mask = {p, kKey};
        EXPECT_TRUE(near(dropout(x, mask), definition(x, mask, {}), tolerance(dtype), 0)) << shape;
        EXPECT_TRUE(near(dropout(x, mask, residual), definition(x, mask, residual), 0,
                         1e4 * tolerance(dtype)))
            << shape;
        EXPECT_TRUE(same_bits(dropout(x, mask, residual), dropout(x, mask) + residual)) << shape;
      }
    }
  }
}

TEST_P(DropoutOpTest, EveryLayoutAndAnyThreadsGiveTheSameBits) {
  const DropoutOptions mask = {0.3, kKey};
  const Tensor x = random_tensor({7, 9, 5}, kFloat32, 1);
  const Tensor addend = random_tensor({7, 9, 5}, kFloat32, 2);
  const Tensor want = dropout(x, mask, addend);
  for (const Layout& layout : layouts_of(x)) {
    for (const Layout& residual : layouts_of(addend)) {
      EXPECT_TRUE(same_bits(dropout(layout.tensor, mask, residual.tensor), want))
          << layout.name << ", " << residual.name;
    }
  }
  const Tensor large = random_tensor({301, 777}, kFloat32, 3);
  const Tensor alone = same_on_any_threads([&] { return dropout(large, mask); });
  // The number of elements before an element gives its position; later elements have no effect.
  EXPECT_TRUE(same_bits(dropout(large.slice(0, 0, 40), mask), alone.slice(0, 0, 40)));
}

TEST_P(DropoutOpTest, ANanThatIsDroppedIsGone) {
  const DropoutOptions mask = {0.5, kKey};
  const Tensor kept = ne(dropout(ones({100}), mask), 0);
  for (const double bad : {kNaN, kInf}) {
    const Tensor y = dropout(full({100}, bad), mask);
    EXPECT_TRUE(same_bits(ne(y, 0), kept));
    EXPECT_TRUE(same_bits(isfinite(y), logical_not(kept)));
  }
}

TEST_P(DropoutOpTest, GradientsAgreeWithDifferences) {
  for (const double p : {0.4, 1.0}) {
    const Function f = [&](const Tensors& x) { return dropout(x[0], {p, kKey}, x[1]); };
    EXPECT_TRUE(gradcheck(f, {values({5, 9}, 1), values({5, 9}, 2)}));
    const Function alone = [&](const Tensors& x) { return dropout(x[0], {p, kKey}); };
    EXPECT_TRUE(gradcheck(alone, {values({5, 9}, 1)}));
  }
}

TEST_P(DropoutOpTest, ATapeKeepsNoMask) {
  const Tensor x = randn({1000, 1000}).set_requires_grad();
  release_cached_memory();
  const index_t before = memory_stats().in_use;
  Tape tape;
  const Tensor y = dropout(x, {0.1, kKey});
  EXPECT_LT(memory_stats().in_use - before, 4500 * 1000);  // y itself
}

TEST(Dropout, DrawsAreIndependent) {
  constexpr double kDrop = 6554 / 65536.0;  // 0.1, rounded
  const auto dropped = [](std::uint64_t key) {
    const Tensor y = dropout(ones({1 << 18}), {0.1, key});
    std::vector<int> result;
    for (index_t i = 0; i < y.count(); ++i) result.push_back(y.data<float>()[i] == 0);
    return result;
  };
  for (const std::uint64_t key : {std::uint64_t{0}, std::uint64_t{1}, kKey}) {
    const std::vector<int> here = dropped(key);
    const auto n = static_cast<double>(here.size());
    double count = 0;
    for (int drop : here) count += drop;
    EXPECT_LT(std::abs(deviations(count, n, kDrop)), 4);
    for (const int apart : {1, 2, 15, 16, 17, 32, 64, 768, 1024}) {
      const auto distance = static_cast<std::size_t>(apart);
      double both = 0;
      for (std::size_t i = distance; i < here.size(); ++i) both += here[i] * here[i - distance];
      EXPECT_LT(std::abs(deviations(both, n - static_cast<double>(distance), kDrop * kDrop)), 4.5)
          << distance;
    }
    for (const std::vector<int>& there :
         {dropped(key + 1), dropped(key + (std::uint64_t{1} << 32))}) {
      double both = 0;
      for (std::size_t i = 0; i < here.size(); ++i) both += here[i] * there[i];
      EXPECT_LT(std::abs(deviations(both, n, kDrop * kDrop)), 4.5);
    }
  }
}

TEST(Dropout, ErrorsOfTheOp) {
  const Tensor x = ones({2, 3});
  for (const double p : {-0.1, 1.1, kNaN}) {
    fails("dropout", {"[0, 1]", str_cat(p)}, [&] { dropout(x, {p, 1}); });
  }
  fails("dropout", "undefined", [&] { dropout({}, {0.1, 1}); });
  fails("dropout", "int64", [&] { dropout(x.to(kInt64), {0.1, 1}); });
  fails("dropout", {"(3,)", "(2, 3)"}, [&] { dropout(x, {0.1, 1}, ones({3})); });
  fails("dropout", {"float64", "float32"}, [&] { dropout(x, {0.1, 1}, x.to(kFloat64)); });
}

}  // namespace
}  // namespace tessera::test
