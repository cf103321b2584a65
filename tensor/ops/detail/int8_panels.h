// Panels of int8, and their products. Private to the ops.
#pragma once

#include <memory>

#include "tensor/kernels/product_args.h"
#include "tensor/ops/detail/weight_panels.h"

namespace tessera::detail {

/// A weight of fewer rows keeps its elements: its products take little time, and a head's outputs
/// are what users read.
inline constexpr index_t kFewestInt8Rows = 64;

/// The panels of a float32 matrix of at most kernels::kInt8Depth columns. **Errors**: inf or NaN.
std::shared_ptr<const WeightPanels> make_int8_panels(const Tensor& weight, PanelOrder order);

/// out = epilogue(x weight^T), `x` being rounded row by row. **Errors**: inf or NaN in x.
void multiply_int8(const char* op, const Tensor& x, const kernels::Int8Panels& weight,
                   const kernels::Epilogue<float>& epilogue, Tensor& out);

}  // namespace tessera::detail
