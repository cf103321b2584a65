#include "tessera/tensor/ops/reduce.h"

#include "tessera/tensor/ops/arithmetic.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

using namespace test;

using SimilarityTest = test::IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, SimilarityTest, test::each_isa(), test::isa_name);

TEST_P(SimilarityTest, HasTheBitsOfACopyInEveryLayout) {
  for (const DType dtype : {kFloat32, kFloat64, kInt64}) {
    for (const Shape& shape : {Shape{5, 37}, Shape{3, 4, 9}, Shape{3, 0}}) {
      for (const auto& a : random_layouts(shape, dtype, 1, -5, 5)) {
        for (const auto& b : random_layouts(shape, dtype, 2, -5, 5)) {
          for (index_t axis = 0; axis < shape.size(); ++axis) {
            SCOPED_TRACE(testing::Message() << dtype << shape << " along " << axis << ", " << a.name
                                            << " with " << b.name);
            const Tensor got = cosine_similarity(a.tensor, b.tensor, axis);
            ASSERT_EQ(got.dtype(), dtype == kInt64 ? kFloat32 : dtype);
            ASSERT_TRUE(
                same_bits(got, cosine_similarity(a.tensor.clone(), b.tensor.clone(), axis)));
          }
        }
      }
    }
  }
}

TEST_P(SimilarityTest, KnownValues) {
  const Tensor a = tensor({{1.0, 0.0}, {1.0, 1.0}, {0.0, 0.0}});
  const Tensor b = tensor({1.0, 0.0});
  EXPECT_TRUE(near(cosine_similarity(a, b), {{3}, {1, std::sqrt(0.5), 0}}, 1e-6));
  const Tensor whole = tensor({{3, 0, 4}, {-1, 2, 2}});
  EXPECT_TRUE(
      near(cosine_similarity(whole, tensor({2, 1, -2})), {{2}, {-2.0 / 15, -4.0 / 9}}, 1e-6));
  EXPECT_TRUE(near(cosine_similarity(whole.t(), tensor({{2}, {1}, {-2}}), 0),
                   {{2}, {-2.0 / 15, -4.0 / 9}}, 1e-6));
}

TEST_P(SimilarityTest, EpsBoundsEachLength) {
  const Tensor tiny = full({1, 4}, 1e-3, kFloat64);
  const Tensor one = full({1, 4}, 0.5, kFloat64);
  EXPECT_NEAR(cosine_similarity(tiny, one, 1, 0.1).item(), 2e-3 / 0.1, 1e-12);
  EXPECT_NEAR(cosine_similarity(tiny, one).item(), 1, 1e-12);
}

TEST(SimilarityErrorTest, NamesTheOp) {
  fails("cosine_similarity", "eps must be at least 0, got -1",
        [] { return cosine_similarity(ones({3}), ones({3}), 0, -1); });
  fails("cosine_similarity", {"(2, 3)", "(4,)"}, [] {
    return cosine_similarity(ones({2, 3}), ones({4}));
  });
  fails("cosine_similarity", {"axis must be in [", "got 1"},
        [] { return cosine_similarity(ones({3}), ones({3}), 1); });
  fails("cosine_similarity", "undefined", [] { return cosine_similarity(Tensor{}, ones({3}), 0); });
}

}  // namespace
}  // namespace tessera
