// softmax, layer norm and RMS norm over rows.
#include <array>
#include <cmath>

#include "bench/oracles.h"
#include "bench/registry.h"
#include "tessera/nn/module.h"
#include "tessera/nn/norm.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/softmax.h"
#include "tessera/tensor/random.h"

namespace tessera::bench {

namespace {

Case softmax_case(const Rows& s) {
  const Tensor x = uniform(-3, 3, {s.rows, s.columns}, s.dtype);
  return {[=] { return softmax(x, -1); }, [=](const Tensor& y) { return softmax_error(s, x, y); }};
}

Case layer_norm_case(const Rows& s) {
  const Tensor x = uniform(-3, 3, {s.rows, s.columns}, s.dtype);
  nn::LayerNorm norm(s.columns);
  nn::convert(norm, s.dtype);
  return {[=] { return norm(x); },
          [=](const Tensor& y) { return layer_norm_error(s, x, y, norm.eps); }};
}

Case rms_norm_case(const Rows& s) {
  const Tensor x = uniform(-3, 3, {s.rows, s.columns}, s.dtype);
  nn::RMSNorm norm(s.columns);
  nn::convert(norm, s.dtype);
  const auto expected = [=](const Elements& row, index_t first, index_t column) {
    double square = 0;
    for (index_t j = 0; j < s.columns; ++j) square += row[first + j] * row[first + j];
    return row[first + column] / std::sqrt(square / static_cast<double>(s.columns) + norm.eps);
  };
  return {[=] { return norm(x); }, [=](const Tensor& y) { return rows_error(s, x, y, expected); }};
}

/// A kind whose definition takes `flops` operations per element; an exponential counts as one.
Kind rows_kind(const std::string& name, const std::string& what, double flops,
               Case (*make)(const Rows&)) {
  constexpr std::array<std::array<index_t, 2>, 3> kSizes = {
      {{1536, 128}, {49152, 128}, {49152, 512}}};
  const auto work = [=](Parameters& p) {
    const Rows s = {p.size("rows"), p.size("cols"), p.dtype()};
    const double elements = static_cast<double>(s.rows) * static_cast<double>(s.columns);
    const Cost cost = {
        .flops = flops * elements, .bytes = bytes_of(2 * elements, s.dtype), .dtype = s.dtype};
    return Work{cost, [=] { return make(s); }};
  };
  Kind kind = {
      .name = name, .pattern = name + "/rows:/cols:[/dtype:float64]", .what = what, .work = work};
  for (const auto& [rows, columns] : kSizes) {
    kind.names.push_back(str_cat(name, "/rows:", rows, "/cols:", columns));
  }
  return kind;
}

}  // namespace

void register_rows() {
  // The maximum, a difference, an exponential, a sum, a quotient.
  register_kind(rows_kind("softmax", "exp(x) / sum exp(x) of each row", 5, softmax_case));
  // Two sums, a square, a difference, three operations to scale and shift.
  register_kind(
      rows_kind("layer_norm", "(x - mean) / deviation, scaled and shifted", 7, layer_norm_case));
  // A square, a sum, two factors.
  register_kind(rows_kind("rms_norm", "x / root of the mean square, scaled", 4, rms_norm_case));
}

}  // namespace tessera::bench
