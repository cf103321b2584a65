#include "tessera/nn/rotary.h"

#include "tessera/nn/detail/check.h"

namespace tessera::nn {

namespace {

Buffer table_for(const RotaryOptions& options, index_t head_width) {
  constexpr const char* kOp = "Rotary";
  detail::require_size(kOp, "max_positions", options.max_positions);
  detail::require_size(kOp, "head_width", head_width);
  detail::require_positive(kOp, "base", options.base);
  detail::require_positive(kOp, "divisor", options.divisor);
  const index_t width = options.width == 0 ? head_width : options.width;
  require(width >= 2 && width % 2 == 0 && width <= head_width, kOp,
          "width must be an even number from 2 to the heads' width ", head_width, ", got ", width);
  return Buffer(
      rotary_table(options.max_positions, width, options.base, kFloat64, options.divisor));
}

}  // namespace

Rotary::Rotary(const RotaryOptions& options, index_t width)
    : table(table_for(options, width)), head_width(width), interleaved(options.interleaved) {}

Rotation Rotary::rotation(DType dtype, const Tensor& positions) const {
  const bool fits = table.value().dtype() == dtype;
  return {.table = fits ? table.value() : table.exact().to(dtype),
          .positions = positions,
          .interleaved = interleaved};
}

RotaryColumns Rotary::columns(index_t heads, DType dtype, const Tensor& positions) const {
  return {.rotation = rotation(dtype, positions), .heads = heads, .width = head_width};
}

Tensor Rotary::operator()(const Tensor& x, const Tensor& positions) const {
  require(x.defined(), "Rotary", "x must be floating heads, got an undefined tensor");
  require(is_floating(x.dtype()), "Rotary", "x must be floating heads, got ", x.dtype());
  require(x.size(-1) == head_width, "Rotary", "x must be heads of width ", head_width,
          ", got shape ", x.shape());
  return rotary(x, rotation(x.dtype(), positions));
}

}  // namespace tessera::nn
