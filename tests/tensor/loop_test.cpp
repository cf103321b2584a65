#include "tessera/tensor/detail/loop.h"

#include <atomic>
#include "tests/support/test.h"

namespace tessera {
namespace {

TEST(PlanLoopTest, MergesWhatIsContiguousInEveryOperand) {
  const auto one = plan_loop<1>({2, 3, 4}, {row_major_strides({2, 3, 4})});
  EXPECT_EQ(one.sizes, Shape({24}));
  EXPECT_EQ(one.strides[0], Strides({1}));

  // The second operand is transposed in its last two axes, so only the other axes merge.
  const auto two = plan_loop<2>({2, 3, 4}, {Strides{12, 4, 1}, Strides{12, 1, 3}});
  EXPECT_EQ(two.sizes, Shape({2, 3, 4}));

  // The second operand is broadcast over the first axis: the other two still merge.
  const auto broadcast = plan_loop<2>({2, 3, 4}, {Strides{12, 4, 1}, Strides{0, 4, 1}});
  EXPECT_EQ(broadcast.sizes, Shape({2, 12}));
  EXPECT_EQ(broadcast.strides[1], Strides({0, 1}));
  EXPECT_EQ(broadcast.row_count(), 2);
  EXPECT_EQ(broadcast.row_length(), 12);
}

TEST(PlanLoopTest, SkipsAxesOfSizeOne) {
  const auto plan = plan_loop<1>({3, 1, 4}, {Strides{4, 999, 1}});
  EXPECT_EQ(plan.sizes, Shape({12}));
  const auto scalar = plan_loop<1>({1, 1}, {Strides{5, 5}});
  EXPECT_EQ(scalar.sizes, Shape({1}));
  EXPECT_EQ(plan_loop<1>({}, {Strides{}}).row_count(), 1);
}

TEST(RowOffsetsTest, WalksInRowMajorOrder) {
  const auto plan = plan_loop<2>({2, 3, 5}, {Strides{100, 10, 1}, Strides{1, -7, 50}});
  ASSERT_EQ(plan.sizes, Shape({2, 3, 5}));
  index_t row = 0;
  for (index_t i = 0; i < 2; ++i) {
    for (index_t j = 0; j < 3; ++j) {
      const auto offsets = row_offsets(plan, row++);
      EXPECT_EQ(offsets[0], 100 * i + 10 * j);
      EXPECT_EQ(offsets[1], i - 7 * j);
    }
  }
}

/// Visits all elements of `shape` and checks that each was visited once, at the correct offsets.
void check_visits(const Shape& shape, const Strides& strides, int threads) {
  set_thread_count(threads);
  const index_t count = element_count("test", shape);
  const auto plan = plan_loop<2>(shape, {row_major_strides(shape), strides});
  std::vector<index_t> second(static_cast<std::size_t>(count), -1);
  std::atomic<index_t> visits = 0;
  for_each_row(plan, 1, [&](const std::array<index_t, 2>& offsets, index_t n) {
    for (index_t i = 0; i < n; ++i) {
      const index_t at = offsets[0] + i * plan.strides[0].back();
      second[static_cast<std::size_t>(at)] = offsets[1] + i * plan.strides[1].back();
    }
    visits += n;
  });
  set_thread_count(0);
  EXPECT_EQ(visits, count);
  for (index_t flat = 0; flat < count; ++flat) {
    index_t want = 0;
    index_t rest = flat;
    for (index_t axis = shape.size() - 1; axis >= 0; --axis) {
      want += rest % shape[axis] * strides[axis];
      rest /= shape[axis];
    }
    ASSERT_EQ(second[static_cast<std::size_t>(flat)], want)
        << "element " << flat << " of " << shape;
  }
}

TEST(ForEachRowTest, VisitsEveryElementOnce) {
  for (int threads : {1, 2, 3, 7}) {
    check_visits({}, {}, threads);
    check_visits({5}, {-3}, threads);
    check_visits({0}, {1}, threads);
    check_visits({3, 0, 2}, {1, 1, 1}, threads);
    check_visits({0, 100000}, {1, 1}, threads);
    check_visits({3, 4, 5}, {1, 3, 12}, threads);
    check_visits({3, 4, 5}, {0, 5, 1}, threads);
    // Above the grain: pieces begin and end inside rows.
    check_visits({7, 33333}, {-1, 10}, threads);
    check_visits({50000, 3}, {1, 50000}, threads);
    check_visits({200001}, {2}, threads);
  }
}

}  // namespace
}  // namespace tessera
