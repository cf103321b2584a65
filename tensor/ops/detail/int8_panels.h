// Panels of int8, and their products. Private to the ops.
#pragma once

#include <memory>

#include "tensor/kernels/product_args.h"
#include "tensor/ops/detail/weight_panels.h"

namespace tessera::detail {

/// A weight with fewer rows stays float32: its products take little time.
inline constexpr index_t kFewestInt8Rows = 64;

/// Whether no element of a float32 matrix is inf or NaN.
bool is_finite(const Tensor& matrix);

/// The panels of a float32 matrix of at most kernels::kInt8Depth columns. **Errors**: inf or NaN.
std::shared_ptr<const WeightPanels> make_int8_panels(const Tensor& weight, PanelOrder order);

/// out = epilogue(x weight^T). Rounds each row of x (m, k) to 8 bits. A row with inf or NaN gives a
/// row of NaN.
void multiply_int8(const Tensor& x, const kernels::Int8Panels& weight,
                   const kernels::Epilogue<float>& epilogue, Tensor& out);

}  // namespace tessera::detail
