// The gated product and its gradient, compared with whole numbers and with the separate kernels, on
// every instruction set.

#include "tessera/tensor/error.h"
#include "tests/support/floats.h"
#include "tests/support/support.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using kernels::function_of;

class GatedKernelsTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, GatedKernelsTest, each_isa(), isa_name);

constexpr Activation kActivations[] = {Activation::kNone, Activation::kRelu, Activation::kGelu,
                                       Activation::kGeluTanh, Activation::kSilu};

/// C (m, n) of A (m, k) and B (k, 2n), stored like a weight (2n, k) or, if `by_rows`, row by row.
template <class T>
struct GatedProduct {
  index_t m, n, k;
  Activation activation = Activation::kNone;
  bool bias = true;
  bool packed = true;
  bool keeps_halves = true;
  bool by_rows = false;
  index_t offset = 0;  // of every buffer
  index_t c_gap = 0;

  Guarded<T> a{random_values<T>(m * k, 1), offset};
  Guarded<T> b{random_values<T>(k * 2 * n, 2), offset};
  Guarded<T> addend{random_values<T>(2 * n, 3), offset};
  Guarded<T> c{m * (n + c_gap), offset};
  Guarded<T> halves{m * 2 * n, offset};

  T b_at(index_t p, index_t j) const { return b.data()[by_rows ? p * 2 * n + j : j * k + p]; }

  kernels::MatrixRef<T> b_matrix() const {
    return {b.data(), by_rows ? 2 * n : 1, by_rows ? 1 : k};
  }
  const T* addend_or_none() const { return bias ? addend.data() : nullptr; }
  kernels::GemmArgs<T> args() {
    return {.m = m,
            .n = n,
            .k = k,
            .c = c.data(),
            .c_row = n + c_gap,
            .a = {a.data(), k, 1},
            .b = b_matrix(),
            .epilogue = {.bias = addend_or_none(),
                         .function = activation,
                         .gated = true,
                         .z = keeps_halves ? halves.data() : nullptr},
            .workers = thread_count()};
  }

  static void run(kernels::GemmArgs<T> args) {
    Guarded<T> workspace(table<T>().gemm_workspace(args));
    for (index_t i = 0; i < table<T>().gemm_workspace(args); ++i) {
      workspace[i] = std::numeric_limits<T>::quiet_NaN();
    }
    args.workspace = workspace.data();
    table<T>().gemm(args);
    ASSERT_TRUE(workspace.intact()) << "workspace";
  }

  void run() {
    SCOPED_TRACE(str_cat("m ", m, ", n ", n, ", k ", k, ", activation ",
                         static_cast<int>(activation), ", bias ", bias, ", packed ", packed,
                         ", by rows ", by_rows));
    for (index_t i = 0; i < m * (n + c_gap); ++i) c[i] = std::numeric_limits<T>::quiet_NaN();
    for (index_t i = 0; i < m * 2 * n; ++i) halves[i] = std::numeric_limits<T>::quiet_NaN();
    kernels::GemmArgs<T> all = args();
    Guarded<T> panels(packed ? k * kernels::panel_columns(n, true, table<T>().lanes) : 0, 0);
    if (packed) {
      table<T>().pack_gated_b(k, n, b_matrix(), panels.data());
      ASSERT_TRUE(panels.intact()) << "panels";
      all.packed_b = panels.data();
    }
    run(all);
    ASSERT_TRUE(c.intact() && halves.intact());
    for (index_t i = 0; i < m; ++i) {
      for (index_t j = n; j < n + c_gap; ++j) ASSERT_TRUE(std::isnan(c[i * (n + c_gap) + j]));
    }
  }

  /// The plain product (m, 2n), bias included.
  std::vector<T> plain_halves() {
    kernels::GemmArgs<T> plain = args();
    std::vector<T> result(static_cast<std::size_t>(m * 2 * n));
    plain.n = 2 * n;
    plain.c = result.data();
    plain.c_row = 2 * n;
    plain.epilogue = {.bias = addend_or_none()};
    run(plain);
    return result;
  }
};

/// Whole numbers: products and sums are exact.
template <class T>
void expect_exact(GatedProduct<T> product) {
  const auto round = [](Guarded<T>& numbers) {
    const auto count = static_cast<index_t>(numbers.values().size());
    for (index_t i = 0; i < count; ++i) numbers[i] = std::nearbyint(4 * numbers[i]);
  };
  round(product.a);
  round(product.b);
  round(product.addend);
  product.run();
  for (index_t i = 0; i < product.m; ++i) {
    for (index_t j = 0; j < product.n; ++j) {
      int half[2];
      for (index_t h = 0; h < 2; ++h) {
        const index_t column = h * product.n + j;
        int sum = product.bias ? static_cast<int>(product.addend[column]) : 0;
        for (index_t p = 0; p < product.k; ++p) {
          sum += static_cast<int>(product.a[i * product.k + p]) *
                 static_cast<int>(product.b_at(p, column));
        }
        half[h] = sum;
        if (product.keeps_halves) {
          ASSERT_EQ(product.halves[i * 2 * product.n + column], static_cast<T>(sum));
        }
      }
      if (product.activation == Activation::kRelu) half[0] = std::max(half[0], 0);
      ASSERT_EQ(product.c[i * (product.n + product.c_gap) + j], static_cast<T>(half[0] * half[1]))
          << i << ", " << j << " of " << product.m << " x " << product.n << " x " << product.k;
    }
  }
}

template <class T>
GatedProduct<T> numbered(index_t m, index_t n, index_t k, index_t number) {
  return {.m = m,
          .n = n,
          .k = k,
          .activation = number % 2 == 0 ? Activation::kNone : Activation::kRelu,
          .bias = number % 3 != 0,
          .packed = number % 5 < 3,
          .keeps_halves = number % 4 < 2,
          .by_rows = number % 7 < 3,
          .offset = number % 5,
          .c_gap = number % 3};
}

TEST_P(GatedKernelsTest, IsExactAtEverySmallSize) {
  for_floats([]<class T>(T) {
    index_t number = 0;
    for (index_t m = 0; m <= 27; ++m) {
      for (index_t n = 0; n <= 35; ++n) {
        expect_exact(numbered<T>(m, n, (m + n) % 5, ++number));
        ASSERT_FALSE(::testing::Test::HasFatalFailure());
      }
    }
  });
}

TEST_P(GatedKernelsTest, IsExactAroundTilesAndBlocks) {
  for_floats([]<class T>(T) {
    index_t number = 0;
    for (const index_t m : {1, 2, 3, 12, 50, 145}) {
      for (const index_t n : {15, 64, 67, 400}) {
        for (const index_t k : {7, 257}) {
          expect_exact(numbered<T>(m, n, k, ++number));
          ASSERT_FALSE(::testing::Test::HasFatalFailure());
        }
      }
    }
    for (const index_t k : {1023, 1025, 2050}) {
      for (const index_t m : {1, 37}) expect_exact(numbered<T>(m, 33, k, ++number));
    }
  });
}

template <class T>
void expect_bits_of_separate_kernels(Activation activation) {
  index_t number = 0;
  for (const index_t m : {1, 2, 3, 7, 64, 150}) {
    for (const index_t n : {5, 33, 130, 700}) {
      set_thread_count(static_cast<int>(number) % 8 + 1);  // no bit depends on it
      const index_t k = number % 2 == 0 ? 37 : 300;
      GatedProduct<T> product = numbered<T>(m, n, k, ++number);
      product.activation = activation;
      product.keeps_halves = true;
      product.run();
      const std::vector<T> halves = product.plain_halves();
      ASSERT_TRUE(same_bits(product.halves.values(), halves));
      for (index_t i = 0; i < m; ++i) {
        std::vector<T> want(halves.begin() + 2 * i * n, halves.begin() + (2 * i + 1) * n);
        if (activation != Activation::kNone) {
          table<T>().unary(function_of(activation), n, want.data(), 1, want.data());
        }
        table<T>().binary(kernels::BinaryOp::kMul, n, want.data(), 1,
                          halves.data() + (2 * i + 1) * n, 1, want.data());
        const T* row = product.c.data() + i * (n + product.c_gap);
        ASSERT_TRUE(same_bits(std::vector<T>(row, row + n), want))
            << "row " << i << " of " << m << ", n " << n << ", activation "
            << static_cast<int>(activation);
      }
    }
  }
  set_thread_count(0);
}

TEST_P(GatedKernelsTest, HasTheBitsOfTheSeparateKernels) {
  for (const Activation activation : kActivations) {
    for_floats([&]<class T>(T) { expect_bits_of_separate_kernels<T>(activation); });
  }
}

}  // namespace
}  // namespace tessera::test
