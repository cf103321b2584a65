// The facts that processes compare before they train together.
#include "nn/training/detail/agreement.h"

#include "tensor/create.h"
#include "tests/support/support.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

TEST(Agreement, DigestsChangeWithEachNumberAndTheirOrder) {
  const std::vector<index_t> numbers = {3, 1, 4, 1, 5};
  std::set<std::uint64_t> digests = {digest_of(numbers), digest_of({})};
  const auto add = [&](std::vector<index_t> other) { digests.insert(digest_of(other)); };
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    for (const index_t change : {index_t{1}, index_t{1} << 12, index_t{1} << 31}) {
      std::vector<index_t> other = numbers;
      other[i] ^= change;
      add(other);
    }
  }
  add({1, 3, 4, 1, 5});
  add({3, 1, 4, 1});
  EXPECT_EQ(digests.size(), 2 + 5 * 3 + 2);
}

TEST(Agreement, DescriptionsChangeWithEachElement) {
  std::set<std::string> digests;
  const auto describe = [](const Tensor& x) {
    return description_of({{"w", x}, {"b", zeros({2})}});
  };
  for (const DType dtype : {kFloat32, kFloat64}) {
    const Tensor x = zeros({3, 5}, dtype);
    EXPECT_EQ(describe(x).text("w"), dtype == kFloat32 ? "float32 (3, 5)" : "float64 (3, 5)");
    digests.insert(describe(x).text("digest"));
    for (index_t i = 0; i < x.count(); ++i) {
      for (const double change : {1.0, -0.0}) {
        Tensor other = x.clone();
        other.flatten().slice(0, i, i + 1).fill(change);
        digests.insert(describe(other).text("digest"));
      }
    }
  }
  EXPECT_EQ(digests.size(), 2 * (1 + 15 * 2));
  const Tensor transposed = arange(6).to(kFloat32).reshape({2, 3}).transpose(0, 1);
  EXPECT_EQ(describe(transposed).text("digest"), describe(transposed.clone()).text("digest"));
}

using AgreementTest = test::IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, AgreementTest, test::each_isa(), test::isa_name);

TEST_P(AgreementTest, ArithmeticIsThatOfTheInstructionSet) {
#if defined(__x86_64__)
  const bool is_fused = GetParam() != "baseline";
#else
  constexpr bool is_fused = true;
#endif
  EXPECT_EQ(arithmetic_text().find("rounded once") != std::string::npos, is_fused);
}

}  // namespace
}  // namespace tessera::nn
