#include "tessera/tensor/ops/unpad_rows.h"

#include "tests/support/gradcheck.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

const std::vector<index_t> kLengths = {3, 0, 1, 5, 2};
constexpr index_t kTokens = 5;

/// The index in the padded batch of each unpadded row.
std::vector<Dims> places() {
  std::vector<Dims> all;
  for (std::size_t b = 0; b < kLengths.size(); ++b) {
    for (index_t t = 0; t < kLengths[b]; ++t) all.push_back({static_cast<index_t>(b), t});
  }
  return all;
}

TEST(UnpadRows, TakesTheFirstRowsOfEachSequence) {
  const std::vector<Dims> rows = places();
  const Tensor lengths = from_vector(kLengths);
  for (const DType dtype : {kBool, kInt64, kFloat32, kFloat64}) {
    for (const Shape& shape : {Shape{5, 5}, Shape{5, 5, 3}, Shape{5, 5, 2, 4}}) {
      for (const Layout& x : random_layouts(shape, dtype, 2)) {
        const Array padded = array(x.tensor);
        Shape unpadded = shape;
        unpadded.erase(0);
        unpadded[0] = 11;
        const Array want = build(unpadded, [&](const Dims& i) {
          Dims at = rows[static_cast<std::size_t>(i[0])];
          for (index_t axis = 1; axis < i.size(); ++axis) at.push_back(i[axis]);
          return padded.at(at);
        });
        const Tensor got = unpad_rows(x.tensor, lengths);
        EXPECT_TRUE(exactly(got, want)) << x.name;
        EXPECT_EQ(got.dtype(), dtype);
        const Array again = build(shape, [&](const Dims& i) {
          return i[1] < kLengths[static_cast<std::size_t>(i[0])] ? padded.at(i) : 0.0;
        });
        for (const Layout& rows_of : layouts_of(got)) {
          EXPECT_TRUE(exactly(pad_rows(rows_of.tensor, lengths, kTokens), again)) << x.name;
        }
      }
    }
  }
}

// Long enough for several threads, whose parts begin in the middle of sequences.
TEST(UnpadRows, ThreadsShareTheRows) {
  const std::vector<index_t> sizes = {1, 300, 17, 0, 299, 64};
  const Tensor lengths = from_vector(sizes);
  const Tensor x = random_tensor({6, 300, 400}, kFloat32, 3);
  std::vector<Tensor> parts;
  const Tensor want = zeros({681, 400});
  index_t row = 0;
  for (index_t b = 0; b < 6; ++b) {
    const index_t length = sizes[static_cast<std::size_t>(b)];
    want.slice(0, row, row + length).copy_from(x.select(0, b).slice(0, 0, length));
    row += length;
  }
  for (const int threads : {1, 2, 3, 7}) {
    set_thread_count(threads);
    const Tensor unpadded = unpad_rows(x, lengths);
    EXPECT_TRUE(same_bits(unpadded, want)) << threads;
    const Tensor padded = pad_rows(unpadded, lengths, 300);
    EXPECT_TRUE(same_bits(unpad_rows(padded, lengths), want)) << threads;
    EXPECT_EQ(padded.select(0, 2).slice(0, 17).to_vector<float>(),
              std::vector<float>(283 * 400, 0.0F));
  }
  set_thread_count(0);
}

TEST(UnpadRows, TakesNoRowsAndTheirOffsets) {
  const Tensor none = from_vector<index_t>({0, 0});
  EXPECT_EQ(unpad_rows(zeros({2, 4, 3}), none).shape(), (Shape{0, 3}));
  EXPECT_TRUE(same_bits(pad_rows(zeros({0, 3}), none, 2), zeros({2, 2, 3})));
  EXPECT_EQ(unpad_rows(zeros({2, 4, 0}), from_vector<index_t>({4, 1})).shape(), (Shape{5, 0}));
  const auto offsets = [](const UnpaddedRows& rows) {
    return std::vector<index_t>(rows.offsets(), rows.offsets() + rows.batch() + 1);
  };
  EXPECT_EQ(offsets(UnpaddedRows(kLengths)), (std::vector<index_t>{0, 3, 3, 4, 9, 11}));
  EXPECT_EQ(offsets(UnpaddedRows(zeros({0}, kInt64))), std::vector<index_t>{0});
}

TEST(UnpadRows, AnUnpaddingIsAValue) {
  Tensor lengths = from_vector(kLengths);
  const UnpaddedRows unpadded(lengths, kTokens), of_longest(lengths);
  EXPECT_EQ(unpadded.padded_length(), kTokens);
  EXPECT_EQ(of_longest.padded_length(), 5);
  EXPECT_EQ(unpadded.rows(), 11);
  const Tensor x = random_tensor({5, kTokens, 3}, kFloat32, 1);
  const Tensor rows = unpad_rows(x, lengths);
  lengths.fill(0);  // must not change the unpadding
  EXPECT_TRUE(same_bits(unpadded.unpad(x), rows.unsqueeze(0)));
  EXPECT_TRUE(
      same_bits(unpadded.pad(unpadded.unpad(x)), pad_rows(rows, from_vector(kLengths), kTokens)));
  const UnpaddedRows none;
  EXPECT_FALSE(none);
  EXPECT_TRUE(same_bits(none.unpad(x), x));
  EXPECT_TRUE(same_bits(none.pad(x), x));
}

TEST(UnpadRows, GradientsAgreeWithDifferences) {
  const Tensor lengths = from_vector<index_t>({2, 0, 3});
  EXPECT_TRUE(gradcheck([&](const Tensors& x) { return unpad_rows(x[0], lengths); },
                        {values({3, 3, 2}, 1)}));
  EXPECT_TRUE(
      gradcheck([&](const Tensors& x) { return pad_rows(x[0], lengths, 4); }, {values({5, 2}, 1)}));
}

TEST(UnpadRows, RefusesLengthsThatDoNotFit) {
  const Tensor x = zeros({2, 4, 3});
  const auto lengths = [](const std::vector<index_t>& of) { return from_vector(of); };
  fails("unpad_rows", {"5", "4 rows"}, [&] { unpad_rows(x, lengths({5, 1})); });
  fails("unpad_rows", {"at least 0", "-1"}, [&] { unpad_rows(x, lengths({-1, 1})); });
  fails("unpad_rows", {"batch size 2", "got 3"}, [&] { unpad_rows(x, lengths({1, 1, 1})); });
  fails("unpad_rows", {"int64", "float32"}, [&] { unpad_rows(x, zeros({2})); });
  fails("unpad_rows", {"(B, T, ...)", "(3,)"}, [] { unpad_rows(zeros({3}), zeros({1}, kInt64)); });
  fails("pad_rows", {"3 rows", "got 4"}, [&] { pad_rows(zeros({3, 2}), lengths({2, 2}), 2); });
  fails("pad_rows", {"1 rows", "got 2"}, [&] { pad_rows(zeros({3, 2}), lengths({2, 1}), 1); });
  fails("unpad_rows", "add up to an int64", [&] {
    UnpaddedRows(lengths({index_t{1} << 62, index_t{1} << 62}));
  });
}

}  // namespace
}  // namespace tessera::test
