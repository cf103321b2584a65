#include "tessera/tensor/ops/sort.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <numeric>
#include <type_traits>

#include "tessera/tensor/detail/rows.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/ops/detail/map.h"
#include "tessera/tensor/ops/indexing.h"

namespace tessera {

namespace {

/// The cost of a comparison, in elementary operations: two lookups and a mispredicted branch.
constexpr index_t kComparisonCost = 16;

/// For k below n / this number, a heap of the first k of n elements is faster than a selection.
constexpr index_t kHeapShare = 64;

/// Whether a comes before b in ascending order.
template <class T>
bool less(T a, T b) {
  if constexpr (std::is_floating_point_v<T>) {
    return a < b || (std::isnan(b) && !std::isnan(a));
  } else {
    return a < b;
  }
}

/// The indices of the k elements of a row that come first, in order, at the start of `order`, which
/// has room for all n. Equal elements are ordered by index, so the order is total and does not
/// depend on the algorithm.
template <class T>
void order_row(const T* row, index_t n, index_t k, bool descending, index_t* order) {
  std::iota(order, order + n, index_t{0});
  const auto precedes = [row, descending](index_t i, index_t j) {
    const T a = descending ? row[j] : row[i];
    const T b = descending ? row[i] : row[j];
    if (less(a, b)) return true;
    return i < j && !less(b, a);
  };
  if (k <= n / kHeapShare) {
    std::partial_sort(order, order + k, order + n, precedes);
    return;
  }
  if (k < n) std::nth_element(order, order + k, order + n, precedes);
  std::sort(order, order + k, precedes);
}

/// The indices of the k elements along `axis` (normalized) that come first, in order.
Tensor ordered_indices(const Tensor& x, index_t axis, index_t k, bool descending) {
  Shape shape = x.shape();
  shape[axis] = k;
  const Tensor rows = detail::as_rows(x.detach(), {axis});
  const index_t n = rows.size(1);
  Tensor result = Tensor::empty({rows.size(0), k}, kInt64);
  const auto levels =
      k < n ? index_t{1} : static_cast<index_t>(std::bit_width(static_cast<std::uint64_t>(n)));
  const index_t cost = std::max<index_t>(kComparisonCost * n * levels, 1);
  const index_t rows_per_task = std::max<index_t>(kernels::kParallelGrain / cost, 1);
  const index_t tasks = (rows.size(0) + rows_per_task - 1) / rows_per_task;
  const index_t workers = kernels::worker_count(tasks, rows.size(0) * cost);
  Tensor scratch = Tensor::empty({workers, n}, kInt64);
  index_t* const to = result.mutable_data<index_t>();
  index_t* const orders = scratch.mutable_data<index_t>();
  visit_dtype(x.dtype(), [&](auto kind) {
    using T = decltype(kind);
    const T* const from = rows.data<T>();
    const index_t row_stride = rows.strides()[0];
    kernels::parallel_tasks(tasks, workers, [&](index_t task, index_t worker) {
      index_t* const order = orders + worker * n;
      const index_t end = std::min((task + 1) * rows_per_task, rows.size(0));
      for (index_t row = task * rows_per_task; row < end; ++row) {
        order_row(from + row * row_stride, n, k, descending, order);
        std::copy_n(order, k, to + row * k);
      }
    });
  });
  return detail::from_rows(result, shape, {axis});
}

}  // namespace

Tensor argsort(const Tensor& x, index_t axis, bool descending) {
  detail::require_defined("argsort", x);
  const index_t a = normalize_axis("argsort", axis, x.rank());
  return ordered_indices(x, a, x.shape()[a], descending);
}

Ordered sort(const Tensor& x, index_t axis, bool descending) {
  detail::require_defined("sort", x);
  const index_t a = normalize_axis("sort", axis, x.rank());
  const Tensor indices = ordered_indices(x, a, x.shape()[a], descending);
  return {gather(x, a, indices), indices};
}

Ordered topk(const Tensor& x, index_t k, index_t axis, bool largest) {
  detail::require_defined("topk", x);
  const index_t a = normalize_axis("topk", axis, x.rank());
  require(k >= 0 && k <= x.shape()[a], "topk", "k must be in [0, ", x.shape()[a],
          "], the size of axis ", axis, " of shape ", x.shape(), ", got ", k);
  const Tensor indices = ordered_indices(x, a, k, largest);
  return {gather(x, a, indices), indices};
}

}  // namespace tessera
