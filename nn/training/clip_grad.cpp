#include "nn/training/clip_grad.h"

#include <algorithm>
#include <cmath>

#include "nn/training/multi_tensor.h"
#include "tensor/error.h"
#include "tensor/gradient.h"
#include "tensor/kernels/dispatch.h"

namespace tessera::nn {

namespace {

/// Squares are summed in blocks of this many elements of one gradient, then block by block in
/// order: no number of threads changes the sum.
constexpr index_t kBlock = 16384;

/// A gradient; `first` and `count` are of blocks.
struct Piece {
  index_t first, count;
  index_t elements;
  void* gradient;
  DType dtype;
};

/// Kept between calls for its memory.
std::vector<Piece>& scratch() {
  static thread_local std::vector<Piece> pieces;
  pieces.clear();
  return pieces;
}

void add(std::vector<Piece>& pieces, const Parameters& parameters) {
  for (const auto& [name, parameter] : parameters) {
    Tensor gradient = parameter.grad();
    if (!gradient.defined()) continue;
    require(gradient.is_contiguous(), "clip_grad_norm", "the gradient of ", name,
            " is not contiguous");
    void* const data = visit_floating(gradient.dtype(), [&](auto kind) -> void* {
      return gradient.mutable_data<decltype(kind)>();
    });
    const index_t first = pieces.empty() ? 0 : pieces.back().first + pieces.back().count;
    pieces.push_back({.first = first,
                      .count = (gradient.count() + kBlock - 1) / kBlock,
                      .elements = gradient.count(),
                      .gradient = data,
                      .dtype = gradient.dtype()});
  }
}

/// Calls `body(number, data, n)` for each block, `data` being a float* or double*.
template <class Body>
void for_each_block(const std::vector<Piece>& pieces, const Body& body) {
  detail::for_each_range(pieces, kBlock, [&](const Piece& piece, index_t begin, index_t end) {
    for (index_t b = begin; b < end; ++b) {
      const index_t n = std::min(kBlock, piece.elements - b * kBlock);
      visit_floating(piece.dtype, [&](auto kind) {
        body(piece.first + b, static_cast<decltype(kind)*>(piece.gradient) + b * kBlock, n);
      });
    }
  });
}

double norm_of(const std::vector<Piece>& pieces) {
  if (pieces.empty()) return 0;
  Tensor sums = Tensor::empty({pieces.back().first + pieces.back().count}, kFloat64);
  double* const sum = sums.mutable_data<double>();
  const kernels::KernelTable& table = kernels::table();
  for_each_block(pieces, [&]<class T>(index_t number, T* data, index_t n) {
    sum[number] = table.of<T>().sum_of_squares(n, data);
  });
  double total = 0;
  for (index_t i = 0; i < sums.count(); ++i) total += sum[i];
  return std::sqrt(total);
}

double clip(const std::vector<Piece>& pieces, double max_norm, const ClipOptions& options) {
  constexpr const char* kOp = "clip_grad_norm";
  require(max_norm >= 0, kOp, "max_norm is ", max_norm, ", not a number >= 0");
  const double norm = options.scale * norm_of(pieces);
  require(!options.error_if_nonfinite || std::isfinite(norm), kOp, "the norm of the gradients is ",
          norm);
  const double clipped = max_norm / (norm + 1e-6);
  const double scale = clipped >= 1 ? options.scale : options.scale * clipped;
  if (scale == 1) return norm;
  const kernels::KernelTable& table = kernels::table();
  for_each_block(pieces, [&]<class T>(index_t, T* data, index_t n) {
    const T factor = static_cast<T>(scale);
    table.of<T>().binary(kernels::BinaryOp::kMul, n, data, 1, &factor, 0, data);
  });
  return norm;
}

}  // namespace

double clip_grad_norm(const Parameters& parameters, double max_norm, const ClipOptions& options) {
  std::vector<Piece>& pieces = scratch();
  add(pieces, parameters);
  return clip(pieces, max_norm, options);
}

double clip_grad_norm(const Optimizer& optimizer, double max_norm, const ClipOptions& options) {
  std::vector<Piece>& pieces = scratch();
  for (const Optimizer::Group& group : optimizer.groups()) add(pieces, group.parameters);
  return clip(pieces, max_norm, options);
}

}  // namespace tessera::nn
