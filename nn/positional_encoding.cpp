#include "tessera/nn/positional_encoding.h"

#include "tessera/nn/detail/check.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/indexing.h"

namespace tessera::nn {

namespace {

/// The table's rows for the tokens of x, in its dtype.
Tensor rows_for(const char* op, const Tensor& x, const Tensor& table, const Tensor& positions) {
  require(x.defined(), op, "x must be defined, got an undefined tensor");
  require(x.rank() >= 2 && x.size(-1) == table.size(1), op, "x must have shape (..., T, ",
          table.size(1), "), got ", x.shape());
  require(is_floating(x.dtype()), op, "x must be floating, got ", x.dtype());
  if (positions.defined()) {
    require(positions.rank() >= 1 && positions.size(-1) == x.size(-2), op,
            "positions must have one number for each token of x, ", x.shape(), ", got ",
            positions.shape());
    return embedding(positions, table).to(x.dtype());
  }
  require(x.size(-2) <= table.size(0), op, "x must have at most ", table.size(0),
          " tokens (max_positions), got ", x.size(-2));
  return table.slice(0, 0, x.size(-2)).to(x.dtype());
}

void check_sizes(const char* op, index_t max_positions, index_t d_model) {
  detail::require_size(op, "max_positions", max_positions);
  detail::require_size(op, "d_model", d_model);
}

Buffer table_for(const PositionalEncodingOptions& options) {
  constexpr const char* kOp = "PositionalEncoding";
  check_sizes(kOp, options.max_positions, options.d_model);
  detail::require_finite(kOp, "input_scale", options.input_scale);
  return Buffer(sinusoidal_positions(options.max_positions, options.d_model, kFloat64));
}

}  // namespace

PositionalEncoding::PositionalEncoding(const PositionalEncodingOptions& options)
    : table(table_for(options)), input_scale(options.input_scale), dropout(options.dropout) {}

Tensor PositionalEncoding::operator()(const Tensor& x, const Tensor& positions) const {
  const bool fits = x.defined() && x.dtype() == table.value().dtype();
  const Tensor rows =
      rows_for("PositionalEncoding", x, fits ? table.value() : table.exact(), positions);
  return dropout((input_scale == 1 ? x : x * input_scale) + rows);
}

LearnedPositionalEncoding::LearnedPositionalEncoding(index_t max_positions, index_t d_model,
                                                     const ParameterSource& from) {
  check_sizes("LearnedPositionalEncoding", max_positions, d_model);
  weight = from("weight", {max_positions, d_model}, init::normal(0.02));
}

Tensor LearnedPositionalEncoding::operator()(const Tensor& x, const Tensor& positions) const {
  return x + rows_for("LearnedPositionalEncoding", x, weight, positions);
}

}  // namespace tessera::nn
