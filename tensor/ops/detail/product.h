// The common part of ops that call gemm, and the layout in which products read a weight. Private to
// the ops.
//
// To add a format, add a value of WeightFormat, its words to WeightPanels, and a kernel that
// linear.cpp calls.
#pragma once

#include <array>
#include <cstdint>
#include <memory>
#include <optional>

#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/kernels/table.h"
#include "tessera/tensor/ops/weight.h"
#include "tessera/tensor/profile_span.h"
#include "tessera/tensor/tensor.h"

namespace tessera::detail {

/// x as a matrix whose rows are its last axis: a view if the rows are evenly spaced.
inline Tensor as_matrix(const Tensor& x) {
  index_t rows = 1;
  for (index_t i = 0; i + 1 < x.rank(); ++i) rows *= x.shape()[i];
  return x.reshape({rows, x.size(-1)});
}

/// x in the form that kernels read; if x has more than two axes, its first matrix.
template <class T>
kernels::MatrixRef<T> matrix_ref(const Tensor& x) {
  return {x.data<T>(), x.strides()[x.rank() - 2], x.strides().back()};
}

/// Counts the work of `products` products for profiles; an element of B takes `b_bytes`.
template <class T>
void count_product(const kernels::GemmArgs<T>& args, index_t products = 1,
                   std::size_t b_bytes = sizeof(T)) {
  if (!is_profiling()) return;
  const auto m = static_cast<double>(args.m * products);
  const auto n = static_cast<double>(args.n);
  const auto k = static_cast<double>(args.k);
  const double columns = args.epilogue.gated ? 2 * n : n;
  const double b = k * columns * static_cast<double>(products) * static_cast<double>(b_bytes);
  count_work(2 * m * columns * k, b + m * (k + n) * double{sizeof(T)});
}

/// One product, shared by all threads. A packed B must be packed for `kernel`.
template <class T>
void multiply_once(const kernels::FloatKernels<T>& kernel, kernels::GemmArgs<T> args) {
  args.workers = thread_count();
  Tensor workspace;
  if (const index_t room = kernel.gemm_workspace(args); room > 0) {
    workspace = Tensor::empty({room}, dtype_of<T>);
    args.workspace = workspace.mutable_data<T>();
  }
  count_product(args);
  kernel.gemm(args);
}

/// A weight with fewer rows is not rounded to int8: its products take little time.
inline constexpr index_t kFewestInt8Rows = 64;

/// weight^T, packed for one instruction set: a row of the weight is a column of the panels
/// (tensor/kernels/packing.h). Panels never change.
///
/// Both formats have one layout of words. With kExact, word p of a column is element p of the row;
/// with kInt8, a word holds the codes of 4 adjacent elements (tensor/kernels/int8.h), and the words
/// are followed by a scale and a sum for each column.
class WeightPanels {
 public:
  /// Packs a matrix. **Errors**: kInt8 for an element that is inf or NaN.
  WeightPanels(const Tensor& weight, bool gated, WeightFormat format);

  /// Whether these are the panels of `weight` as it is now, for the instruction set in use.
  bool are_of(const Tensor& weight) const;
  /// Throws if 4 elements of the packed matrix, or all elements if checks_weights(), have changed
  /// without a new version of the storage.
  void check_source() const;
  /// Drops the reference to the packed matrix.
  void forget_source() {
    source_ = {};
    sample_ = {};
  }

  /// The shape of the weight, (out, in).
  const Shape& shape() const { return shape_; }
  /// Whether row i of the first half is next to row i of the second half, as gated products read.
  bool is_gated() const { return gated_; }
  WeightFormat format() const { return format_; }
  /// Whether the panels are for the instruction set in use.
  bool is_current() const { return kernels_ == &kernels::isa_kernels(); }
  /// The kernels that read the panels.
  const kernels::IsaKernels& kernels() const { return *kernels_; }

  /// The elements (out, in): exact, or as the format rounded them.
  Tensor elements() const;
  /// Rows [begin, end) of the weight: panels of the same memory if possible, otherwise new ones.
  /// Codes are copied: a row that is rounded again could get a different scale.
  std::shared_ptr<const WeightPanels> rows(index_t begin, index_t end, bool gated) const;

  /// The panels for kernels, in format kExact.
  template <class T>
  const T* exact() const {
    return reinterpret_cast<const T*>(at(first_ * words_));
  }
  /// The same for kInt8.
  kernels::Int8Panels int8() const;

 private:
  /// An element of the packed matrix, and its bits when it was packed.
  struct Sample {
    const std::byte* place;  // null: none
    std::uint64_t bits;
  };

  WeightPanels(const kernels::IsaKernels& kernels, Shape shape, DType dtype, bool gated,
               WeightFormat format);
  void take_sample();
  template <class Bits>
  bool has_sample() const;
  void pack_exact();
  void pack_int8();
  index_t outputs() const { return gated_ ? shape_[0] / 2 : shape_[0]; }
  index_t word_size() const { return item_size(dtype_); }
  index_t column_of(index_t row) const;
  index_t first_word(index_t column) const;
  std::byte* at(index_t word) const { return memory_.data() + word * word_size(); }

  const kernels::IsaKernels* kernels_;
  Shape shape_;
  DType dtype_;
  bool gated_;
  WeightFormat format_;
  index_t lanes_;      // a panel has kPanelVectors times as many columns
  index_t words_;      // of a column
  index_t columns_;    // of all panels in the memory
  index_t first_ = 0;  // the column with the first row
  Storage memory_;
  Tensor source_;  // the packed matrix, and its storage's version when it was packed
  std::uint64_t version_ = 0;
  std::array<Sample, 4> sample_{};         // without places in rows()
  std::optional<std::uint64_t> checksum_;  // of all elements, if checks_weights()
};

/// `wanted`, or kExact if the weight cannot have that format.
WeightFormat fitting_format(WeightFormat wanted, DType dtype, const Shape& shape);

/// The rows of a weight in one panel, for the instruction set in use.
index_t panel_width(DType dtype);

/// Whether a and b are the same view of the same memory.
bool are_same_elements(const Tensor& a, const Tensor& b);

/// Whether no element of a float32 matrix is inf or NaN.
bool is_finite(const Tensor& matrix);

}  // namespace tessera::detail
