#include "tessera/nn/training/clip_grad.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tessera/nn/detail/check.h"
#include "tessera/nn/training/detail/multi_tensor.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/table.h"
#include "tessera/tensor/profile_span.h"

namespace tessera::nn {

namespace {

/// Squares are summed in blocks of this many elements of one gradient, then block by block in
/// order: the number of threads does not change the sum.
constexpr index_t kNormBlock = 16384;

constexpr const char* kClipOp = "clip_grad_norm";

/// A gradient; `first` and `count` are numbers of blocks.
struct Piece {
  index_t first, count;
  index_t elements;
  void* gradient;
  DType dtype;
};

/// Kept between calls, to reuse its memory.
std::vector<Piece>& scratch() {
  static thread_local std::vector<Piece> pieces;
  pieces.clear();
  return pieces;
}

/// Adds a piece for each gradient, to read and to scale.
void add(std::vector<Piece>& pieces, const Parameters& parameters) {
  index_t first = 0;
  for (const auto& [name, tensor] : parameters) {
    const Tensor gradient = tensor.grad();
    if (!gradient.defined()) continue;
    require(gradient.is_contiguous(), kClipOp, "the gradient of ", name, " must be contiguous");
    pieces.push_back({.first = first,
                      .count = (gradient.count() + kNormBlock - 1) / kNormBlock,
                      .elements = gradient.count(),
                      .gradient = detail::mutable_elements_of(gradient),
                      .dtype = gradient.dtype()});
    first += pieces.back().count;
  }
}

/// Calls `body(number, data, n)` for each block, `data` being a float* or double*.
template <class Body>
void for_each_block(const std::vector<Piece>& pieces, const Body& body) {
  detail::for_each_range(pieces, kNormBlock, [&](const Piece& piece, index_t begin, index_t end) {
    for (index_t b = begin; b < end; ++b) {
      const index_t n = std::min(kNormBlock, piece.elements - b * kNormBlock);
      visit_floating(piece.dtype, [&](auto kind) {
        body(piece.first + b, static_cast<decltype(kind)*>(piece.gradient) + b * kNormBlock, n);
      });
    }
  });
}

/// The sum of the squares of all gradients.
double sum_of_squares(const std::vector<Piece>& pieces) {
  const index_t blocks = pieces.empty() ? 0 : pieces.back().first + pieces.back().count;
  Tensor squares = Tensor::empty({blocks}, kFloat64);
  double* const sum = squares.mutable_data<double>();
  for_each_block(pieces, [&]<class T>(index_t number, T* data, index_t n) {
    sum[number] = kernels::table<T>().sum_of_squares(n, data);
  });
  double total = 0;
  for (index_t i = 0; i < blocks; ++i) total += sum[i];
  return total;
}

}  // namespace

double clip_grad_norm(const Parameters& parameters, double max_norm, const ClipOptions& options) {
  const ProfileScope scope(kClipOp);
  require(max_norm >= 0, kClipOp, "max_norm must be at least 0, got ", max_norm);
  detail::require_not_negative(kClipOp, "scale", options.scale);
  std::vector<Piece>& pieces = scratch();
  add(pieces, parameters);
  const double norm = options.scale * std::sqrt(sum_of_squares(pieces));
  require(!options.error_if_nonfinite || std::isfinite(norm), kClipOp,
          "the norm of the gradients must be finite, got ", norm);
  const double clipped = max_norm / (norm + 1e-6);
  const double scale = clipped >= 1 ? options.scale : options.scale * clipped;
  if (scale == 1) return norm;
  for_each_block(pieces, [&]<class T>(index_t, T* data, index_t n) {
    const T factor = static_cast<T>(scale);
    kernels::table<T>().binary(kernels::BinaryOp::kMul, n, data, 1, &factor, 0, data);
  });
  return norm;
}

}  // namespace tessera::nn
