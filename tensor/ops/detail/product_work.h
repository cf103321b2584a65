// The work of products, for profiles. Private to the ops.
#pragma once

#include "tensor/kernels/product_args.h"
#include "tensor/profile_span.h"

namespace tessera::detail {

/// Counts `products` products; an element of B takes `b_bytes`.
template <class T>
void count_product(const kernels::ProductArgs<T>& args, std::size_t b_bytes, index_t products = 1) {
  if (!is_profiling()) return;
  const auto m = static_cast<double>(args.m * products);
  const auto n = static_cast<double>(args.n);
  const auto k = static_cast<double>(args.k);
  const double columns = args.epilogue.is_gated() ? 2 * n : n;
  const double b = k * columns * static_cast<double>(products) * static_cast<double>(b_bytes);
  count_work(2 * m * columns * k, b + m * (k + n) * double{sizeof(T)});
}

/// The same for a floating-point product.
template <class T>
void count_product(const kernels::GemmArgs<T>& args, index_t products = 1) {
  const kernels::ProductArgs<T>& product = args;
  count_product(product, sizeof(T), products);
}

}  // namespace tessera::detail
