// The gemm kernel against exact integer products, the chain of fused multiply-adds it promises, and
// its error bound, on every instruction set.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "tessera/tensor/kernels/table.h"
#include "tests/support/floats.h"
#include "tests/support/support.h"

namespace tessera::test {
namespace {

enum class Layout { RowMajor, Padded, Transposed, Spaced, Backwards, SameRow, SameColumn };
constexpr int kLayouts = 7;

/// A matrix of random values at some position in guarded memory.
template <class T>
struct Matrix {
  index_t first = 0;
  index_t row = 0;
  index_t col = 0;
  index_t count = 0;  // of elements in memory
  Guarded<T> memory;

  Matrix(index_t rows, index_t columns, Layout layout, index_t offset, std::uint64_t seed)
      : memory(place(rows, columns, layout), offset) {
    const std::vector<T> values = random_values<T>(count, seed);
    std::copy(values.begin(), values.end(), memory.data());
  }

  /// Whole numbers in [-8, 8], whose products add up exactly.
  void round() {
    for (index_t i = 0; i < count; ++i) memory[i] = std::nearbyint(8 * memory[i]);
  }

  const T* data() const { return memory.data() + first; }
  T at(index_t i, index_t j) const { return data()[i * row + j * col]; }

 private:
  index_t place(index_t rows, index_t columns, Layout layout) {
    const index_t n = rows * columns;
    switch (layout) {
      case Layout::RowMajor:
        return set(0, columns, 1, n);
      case Layout::Padded:
        return set(1, columns + 3, 1, rows * (columns + 3) + 1);
      case Layout::Transposed:
        return set(0, 1, rows, n);
      case Layout::Spaced:
        return set(0, 2 * columns + 1, 2, rows * (2 * columns + 1));
      case Layout::Backwards:
        return set(n > 0 ? n - 1 : 0, -columns, -1, n);
      case Layout::SameRow:
        return set(0, 0, 1, columns);
      case Layout::SameColumn:
        return set(0, 1, 0, rows);
    }
    return 0;
  }
  index_t set(index_t start, index_t row_step, index_t col_step, index_t size) {
    first = start;
    row = row_step;
    col = col_step;
    return count = size;
  }
};

/// C, its guarded memory, and the arguments of gemm.
template <class T>
struct Product {
  index_t m, n, k;
  Layout a_layout = Layout::RowMajor;
  Layout b_layout = Layout::RowMajor;
  index_t offset = 0;  // of every buffer, from 64 bytes
  index_t c_gap = 0;   // between C's rows
  bool bias = false;

  Matrix<T> a{m, k, a_layout, offset, 1};
  Matrix<T> b{k, n, b_layout, offset, 2};
  Matrix<T> addend{1, n, Layout::RowMajor, offset, 3};
  Guarded<T> c{m * (n + c_gap), offset};

  index_t c_row() const { return n + c_gap; }

  void round() {
    for (Matrix<T>* matrix : {&a, &b, &addend}) matrix->round();
  }

  ::testing::AssertionResult run() {
    for (index_t i = 0; i < m * c_row(); ++i) c[i] = std::numeric_limits<T>::quiet_NaN();
    kernels::GemmArgs<T> args = {.m = m,
                                 .n = n,
                                 .k = k,
                                 .c = c.data(),
                                 .c_row = c_row(),
                                 .a = {a.data(), a.row, a.col},
                                 .b = {b.data(), b.row, b.col},
                                 .epilogue = {.bias = bias ? addend.data() : nullptr},
                                 .workers = thread_count()};
    const auto& table = kernels::table<T>();
    Guarded<T> workspace(table.gemm_workspace(args));
    for (index_t i = 0; i < table.gemm_workspace(args); ++i) {
      workspace[i] = std::numeric_limits<T>::quiet_NaN();
    }
    args.workspace = workspace.data();
    table.gemm(args);
    if (auto result = workspace.intact(); !result) return result << " (workspace)";
    if (auto result = c.intact(); !result) return result << " (C)";
    for (index_t i = 0; i < m; ++i) {
      for (index_t j = n; j < c_row(); ++j) {
        if (!std::isnan(c[i * c_row() + j])) return wrong(i, j) << "the gap behind row was written";
      }
    }
    return ::testing::AssertionSuccess();
  }

  ::testing::AssertionResult wrong(index_t i, index_t j) const {
    return ::testing::AssertionFailure()
           << "C[" << i << "][" << j << "] of (" << m << ", " << k << ") x (" << k << ", " << n
           << "), layouts " << static_cast<int>(a_layout) << " and " << static_cast<int>(b_layout)
           << ", offset " << offset << ", bias " << bias << ", " << circumstances() << ": ";
  }

  /// Runs and compares each element with `want(i, j)`, which is exact.
  template <class Want>
  ::testing::AssertionResult run_and_compare(const Want& want) {
    if (auto result = run(); !result) return wrong(0, 0) << result.message();
    for (index_t i = 0; i < m; ++i) {
      for (index_t j = 0; j < n; ++j) {
        const T got = c[i * c_row() + j];
        const T wanted = want(i, j);
        if (got != wanted) return wrong(i, j) << "got " << got << ", want " << wanted;
      }
    }
    return ::testing::AssertionSuccess();
  }

  /// Rounds to whole numbers, whose products add up exactly, and compares with those of integers.
  ::testing::AssertionResult is_exact() {
    round();
    std::vector<int> rows;
    for (index_t i = 0; i < m; ++i) {
      for (index_t p = 0; p < k; ++p) rows.push_back(static_cast<int>(a.at(i, p)));
    }
    std::vector<int> columns;
    for (index_t j = 0; j < n; ++j) {
      for (index_t p = 0; p < k; ++p) columns.push_back(static_cast<int>(b.at(p, j)));
    }
    return run_and_compare([&](index_t i, index_t j) {
      const auto row = rows.begin() + i * k;
      int sum = std::inner_product(row, row + k, columns.begin() + j * k, 0);
      if (bias) sum += static_cast<int>(addend.at(0, j));
      return static_cast<T>(sum);
    });
  }

  std::vector<T> values() {
    EXPECT_TRUE(run());
    return c.values();
  }
};

/// acc + a * b as rounded by the kernels of the current instruction set: once if it has FMA.
template <class T>
T multiply_add(T a, T b, T acc) {
#if defined(__x86_64__)
  if (current_isa() == "baseline") {
    const volatile T product = a * b;
    return product + acc;
  }
#endif
  return std::fma(a, b, acc);
}

class GemmTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, GemmTest, each_isa(), isa_name);

TEST_P(GemmTest, IsExactAtEverySmallSize) {
  for_floats([]<class T>(T) {
    for (index_t m = 0; m <= 40; ++m) {
      for (index_t n = 0; n <= 40; ++n) {
        Product<T> product{.m = m, .n = n, .k = (m + n) % 4, .c_gap = (m + n) % 3};
        ASSERT_TRUE(product.is_exact());
      }
    }
  });
}

/// One product; `number` chooses layouts and options in turn.
template <class T>
::testing::AssertionResult is_exact(index_t m, index_t n, index_t k, int number) {
  Product<T> product{.m = m,
                     .n = n,
                     .k = k,
                     .a_layout = static_cast<Layout>(number % kLayouts),
                     .b_layout = static_cast<Layout>(number / kLayouts % kLayouts),
                     .offset = number % 5,
                     .c_gap = number % 2,
                     .bias = number % 4 < 2};
  return product.is_exact();
}

TEST_P(GemmTest, IsExactAroundTilesAndBlocks) {
  for_floats([]<class T>(T) {
    int number = 0;
    for (index_t m : {1, 2, 3, 5, 6, 7, 11, 12, 13, 25, 37, 143, 145}) {
      for (index_t n : {1, 4, 7, 8, 9, 15, 16, 17, 32, 33, 63, 64, 65, 97, 130}) {
        for (index_t k : {0, 1, 2, 255, 257, 383, 384, 385, 769}) {
          ASSERT_TRUE(is_exact<T>(m, n, k, ++number));
        }
      }
    }
  });
}

/// Several blocks of k on every instruction set, and few and many rows, packed and in place.
TEST_P(GemmTest, IsExactPastBlocksOfK) {
  for_floats([]<class T>(T) {
    int turn = 0;
    for (index_t m : {36, 150}) {
      for (index_t k : {385, 769, 1023, 1024, 1025, 2049}) {
        for (int b_layout = 0; b_layout < kLayouts; ++b_layout) {
          ASSERT_TRUE(is_exact<T>(m, 33, k, b_layout * kLayouts + ++turn % kLayouts));
        }
        // More than eight panels (kFewPanels) for each of four threads.
        ASSERT_TRUE(is_exact<T>(m, 4 * 9 * 2 * kernels::table<T>().lanes + 1, k, ++turn));
      }
    }
  });
}

/// Enough panels of B to pack A (kReadsWorthPacking); the last tiles are narrower.
TEST_P(GemmTest, IsExactWithStrips) {
  for_floats([]<class T>(T) {
    const index_t n = 64 * 2 * kernels::table<T>().lanes + 5;
    int number = 0;
    for (index_t m : {48, 61, 150}) {
      for (index_t k : {0, 1, 7, 16, 30}) {
        for (int a_layout = 0; a_layout < kLayouts; ++a_layout) {
          ASSERT_TRUE(is_exact<T>(m, n, k, a_layout + kLayouts * ++number));
        }
      }
    }
  });
}

/// Rows of A a multiple of 4 KiB apart, which are packed for fewer panels of B.
TEST_P(GemmTest, IsExactWithCollidingRows) {
  set_thread_count(1);
  for_floats([]<class T>(T) {
    const index_t n = 17 * 2 * kernels::table<T>().lanes + 3;
    for (index_t m : {8, 9, 13, 25}) {
      for (index_t k : {512, 1024, 2048}) ASSERT_TRUE(is_exact<T>(m, n, k, 0));
    }
  });
  set_thread_count(0);
}

TEST_P(GemmTest, IsExactWithACLargerThanCaches) {
  ASSERT_TRUE(is_exact<float>(1500, 1453, 5, 0));
  ASSERT_TRUE(is_exact<double>(1500, 727, 5, 0));
  // Rows of whole lines, for non-temporal stores; the last panel is not full.
  Product<float> singles{.m = 1500, .n = 1464, .k = 5, .c_gap = 8, .bias = true};
  ASSERT_TRUE(singles.is_exact());
  Product<double> doubles{.m = 1500, .n = 732, .k = 5, .c_gap = 4};
  ASSERT_TRUE(doubles.is_exact());
}

TEST_P(GemmTest, EachElementIsOneChainOfMultiplyAdds) {
  for_floats([]<class T>(T) {
    for (index_t k : {1, 37, 256, 600, 1025, 2049}) {
      for (index_t m : {1, 2, 8, 25, 40}) {
        Product<T> product{.m = m, .n = 43, .k = k, .bias = true};
        ASSERT_TRUE(product.run_and_compare([&](index_t i, index_t j) {
          T sum = 0;
          for (index_t p = 0; p < k; ++p) {
            sum = multiply_add(product.a.at(i, p), product.b.at(p, j), sum);
          }
          return sum + product.addend.at(0, j);
        }));
      }
    }
  });
}

TEST_P(GemmTest, GivesTheSameBitsOnEveryThreadCount) {
  for_floats([]<class T>(T) {
    const index_t sizes[][3] = {{1, 700, 900},  {8, 520, 300}, {250, 130, 300},
                                {601, 17, 270}, {40, 512, 8},  {294, 64, 64}};
    for (const auto& [m, n, k] : sizes) {
      for (Layout layout : {Layout::RowMajor, Layout::Transposed}) {
        Product<T> product{.m = m, .n = n, .k = k, .b_layout = layout};
        set_thread_count(1);
        const auto want = product.values();
        for (int threads : {2, 3, 4, 7, 8}) {
          set_thread_count(threads);
          ASSERT_TRUE(same_bits(product.values(), want)) << product.wrong(0, 0).message();
        }
        set_thread_count(0);
      }
    }
  });
}

/// A thread's last, smaller part must not pack more rows at a time than the others.
TEST_P(GemmTest, HasRoomForUnevenParts) {
  for_floats([]<class T>(T) {
    for (index_t m : {294, 577, 774}) {
      for (Layout layout : {Layout::RowMajor, Layout::Transposed}) {
        for (index_t n : {64, 400}) {
          Product<T> product{.m = m, .n = n, .k = 257, .a_layout = layout};
          set_thread_count(3);
          EXPECT_TRUE(product.is_exact());
          const auto want = product.values();
          set_thread_count(2);
          EXPECT_TRUE(same_bits(product.values(), want)) << product.wrong(0, 0).message();
        }
      }
    }
    set_thread_count(0);
  });
}

}  // namespace
}  // namespace tessera::test
