#include "tessera/tensor/shape.h"

#include <type_traits>

#include "tessera/tensor/error.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

using test::fails;

constexpr index_t kHuge = index_t{1} << 62;

TEST(DimsTest, HoldsAndEditsUpToEightEntries) {
  Dims dims = {2, 3};
  dims.push_back(5);
  dims.insert(0, 7);
  dims.insert(2, 9);
  EXPECT_EQ(dims, Dims({7, 2, 9, 3, 5}));
  dims.erase(0);
  dims.erase(3);
  EXPECT_EQ(dims, Dims({2, 9, 3}));
  EXPECT_EQ(dims.size(), 3);
  EXPECT_EQ(dims.back(), 3);
  EXPECT_FALSE(dims.empty());
  EXPECT_TRUE(Dims().empty());
  EXPECT_EQ(Dims::filled(3, 4), Dims(std::vector<index_t>{4, 4, 4}));
  EXPECT_NE(Dims({1, 2}), Dims({1, 2, 3}));
  EXPECT_NE(Dims({1, 2}), Dims({2, 1}));
  // Entries that erase leaves after the end are not part of the value.
  Dims shorter = {1, 2};
  shorter.erase(1);
  EXPECT_EQ(shorter, Dims({1}));
}

TEST(DimsTest, ConvertsFromAnIntegerButNotFromAFlag) {
  const Axes axes = -1;
  EXPECT_EQ(axes, Axes({-1}));
  EXPECT_TRUE((std::is_convertible_v<int, Axes>));
  EXPECT_FALSE((std::is_convertible_v<bool, Axes>));
}

TEST(DimsTest, RefusesNineEntries) {
  Dims dims = Dims::filled(8, 1);
  fails("shape", "at most 8", [&] { dims.push_back(1); });
  fails("shape", "at most 8", [&] { dims.insert(0, 1); });
  fails("shape", {"at most 8", "got 9"}, [] { Dims{1, 1, 1, 1, 1, 1, 1, 1, 1}; });
  EXPECT_EQ(dims, Dims::filled(8, 1));
}

TEST(DimsTest, PrintsAsPython) {
  EXPECT_EQ(str_cat(Dims{}), "()");
  EXPECT_EQ(str_cat(Dims{3}), "(3,)");
  EXPECT_EQ(str_cat(Dims{2, 0, -1}), "(2, 0, -1)");
}

TEST(ElementCountTest, Multiplies) {
  EXPECT_EQ(element_count("op", {}), 1);
  EXPECT_EQ(element_count("op", {2, 3, 4}), 24);
  EXPECT_EQ(element_count("op", {2, 0, 4}), 0);
  const index_t beyond_32_bits = (index_t{1} << 32) + 1;
  EXPECT_EQ(element_count("op", {beyond_32_bits}), beyond_32_bits);
  EXPECT_EQ(element_count("op", {std::numeric_limits<index_t>::max()}),
            std::numeric_limits<index_t>::max());
}

TEST(ElementCountTest, RefusesWhatCannotBeCounted) {
  const auto most = std::numeric_limits<index_t>::max();
  fails("op", "(4611686018427387904, 4611686018427387904)", [] {
    element_count("op", {kHuge, kHuge});
  });
  fails("op", "(2, 9223372036854775807)", [&] { element_count("op", {2, most}); });
  // The sizes next to a zero are also checked, because strides are products of them.
  fails("op", "elements must fit int64", [] { element_count("op", {kHuge, 0, kHuge}); });
  fails("op", {"at least 0", "(2, -1)"}, [] { element_count("op", {2, -1}); });
  fails("op", {"at least 0", "(0, -1)"}, [] { element_count("op", {0, -1}); });
}

TEST(RowMajorStridesTest, LastAxisIsContiguous) {
  EXPECT_EQ(row_major_strides({}), Strides{});
  EXPECT_EQ(row_major_strides({5}), Strides({1}));
  EXPECT_EQ(row_major_strides({2, 3, 4}), Strides({12, 4, 1}));
  EXPECT_EQ(row_major_strides({2, 0, 4}), Strides({4, 4, 1}));
}

TEST(BroadcastShapesTest, AlignsAtTheRight) {
  EXPECT_EQ(broadcast_shapes("op", {}, {}), Shape{});
  EXPECT_EQ(broadcast_shapes("op", {}, {2, 3}), Shape({2, 3}));
  EXPECT_EQ(broadcast_shapes("op", {2, 3}, {3}), Shape({2, 3}));
  EXPECT_EQ(broadcast_shapes("op", {2, 1, 5}, {4, 1}), Shape({2, 4, 5}));
  EXPECT_EQ(broadcast_shapes("op", {4, 1}, {2, 1, 5}), Shape({2, 4, 5}));
  EXPECT_EQ(broadcast_shapes("op", {0}, {1}), Shape({0}));
  EXPECT_EQ(broadcast_shapes("op", {3, 1}, {0}), Shape({3, 0}));
}

TEST(BroadcastShapesTest, NamesBothShapes) {
  fails("add", {"(2, 3)", "(4,)"}, [] { broadcast_shapes("add", {2, 3}, {4}); });
  fails("add", {"(0,)", "(2,)"}, [] { broadcast_shapes("add", {0}, {2}); });
}

TEST(NormalizeAxisTest, CountsFromEitherEnd) {
  EXPECT_EQ(normalize_axis("op", 0, 3), 0);
  EXPECT_EQ(normalize_axis("op", 2, 3), 2);
  EXPECT_EQ(normalize_axis("op", -1, 3), 2);
  EXPECT_EQ(normalize_axis("op", -3, 3), 0);
  fails("sum", {"axis must be in [", "got 3", "3 axes"}, [] { normalize_axis("sum", 3, 3); });
  fails("sum", {"axis must be in [", "got -4", "3 axes"}, [] { normalize_axis("sum", -4, 3); });
  fails("sum", {"axis must be in [", "got 0", "0 axes"}, [] { normalize_axis("sum", 0, 0); });
}

TEST(NormalizeAxesTest, SortsAndRefusesRepeats) {
  EXPECT_EQ(normalize_axes("op", {-1, 0}, 3), Axes({0, 2}));
  EXPECT_EQ(normalize_axes("op", {}, 3), Axes({0, 1, 2}));
  EXPECT_EQ(normalize_axes("op", {}, 0), Axes{});
  fails("mean", {"axes must be different", "twice", "(2, -1)"}, [] {
    normalize_axes("mean", {2, -1}, 3);
  });
}

TEST(ReducedShapeTest, DropsOrKeeps) {
  EXPECT_EQ(reduced_shape({2, 3, 4}, {0, 2}, false), Shape({3}));
  EXPECT_EQ(reduced_shape({2, 3, 4}, {0, 2}, true), Shape({1, 3, 1}));
  EXPECT_EQ(reduced_shape({2, 3}, {0, 1}, false), Shape{});
}

}  // namespace
}  // namespace tessera
