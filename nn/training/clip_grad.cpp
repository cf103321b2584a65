#include "nn/training/clip_grad.h"

#include <algorithm>
#include <cmath>
#include <string>
#include <string_view>
#include <vector>

#include "nn/check.h"
#include "nn/training/messages.h"
#include "nn/training/multi_tensor.h"
#include "tensor/error.h"
#include "tensor/gradient.h"
#include "tensor/kernels/dispatch.h"

namespace tessera::nn {

namespace {

/// Squares are summed in blocks of this many elements of one gradient, then block by block in
/// order: no number of threads changes the sum.
constexpr index_t kBlock = 16384;

static_assert(kChunkElements % kBlock == 0, "the blocks of chunks are those of whole gradients");

constexpr const char* kClipOp = "clip_grad_norm";

/// A gradient or a chunk of one; `first` and `count` are of blocks.
struct Piece {
  index_t first, count;
  index_t elements;
  void* gradient;
  DType dtype;
};

index_t blocks_of(index_t elements) {
  return (elements + kBlock - 1) / kBlock;
}

/// Kept between calls for its memory.
std::vector<Piece>& scratch() {
  static thread_local std::vector<Piece> pieces;
  pieces.clear();
  return pieces;
}

/// Adds elements [begin, begin + count) of the parameter's gradient, if it has one.
void add(std::vector<Piece>& pieces, const Parameter& parameter, index_t begin, index_t count) {
  const Tensor gradient = parameter.tensor.grad();
  if (!gradient.defined()) return;
  require(gradient.is_contiguous(), kClipOp, "the gradient of ", parameter.name,
          " must be contiguous");
  const DType dtype = gradient.dtype();
  const index_t first = pieces.empty() ? 0 : pieces.back().first + pieces.back().count;
  pieces.push_back(
      {.first = first,
       .count = blocks_of(count),
       .elements = count,
       .gradient = static_cast<char*>(detail::elements_of(gradient)) + begin * item_size(dtype),
       .dtype = dtype});
}

void add(std::vector<Piece>& pieces, const Parameters& parameters) {
  for (const Parameter& parameter : parameters) {
    add(pieces, parameter, 0, parameter.tensor.count());
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

/// The sum of the squares of each block.
Tensor squares_of(const std::vector<Piece>& pieces) {
  const index_t blocks = pieces.empty() ? 0 : pieces.back().first + pieces.back().count;
  Tensor squares = Tensor::empty({blocks}, kFloat64);
  double* const sum = squares.mutable_data<double>();
  const kernels::KernelTable& table = kernels::table();
  for_each_block(pieces, [&]<class T>(index_t number, T* data, index_t n) {
    sum[number] = table.of<T>().sum_of_squares(n, data);
  });
  return squares;
}

double total_of(const Tensor& squares) {
  const double* const sum = squares.data<double>();
  double total = 0;
  for (index_t i = 0; i < squares.count(); ++i) total += sum[i];
  return total;
}

bool has_gradient(const Parameter& parameter) {
  return parameter.tensor.grad_slot()->gradient.defined();
}

/// For each parameter '1' if it has a gradient, else '0'.
std::string presence_of(const Parameters& parameters) {
  std::string presence;
  for (const Parameter& parameter : parameters) presence += has_gradient(parameter) ? '1' : '0';
  return presence;
}

/// Throws, at all processes, unless they have gradients of the same parameters. Each of `all` begins
/// with a presence.
void check_presence(const std::vector<std::string>& all, const Parameters& parameters) {
  for (std::size_t rank = 1; rank < all.size(); ++rank) {
    for (std::size_t i = 0; i < parameters.size(); ++i) {
      const bool first = all[0][i] == '1', other = all[rank][i] == '1';
      require(first == other, kClipOp, "all ranks must have a gradient of ", parameters[i].name,
              " or none, got one on rank ", first ? 0 : rank, " and none on rank ",
              first ? rank : 0);
    }
  }
}

/// The total over the blocks of all processes, of which `squares` are this one's, in the order that
/// they have in one process.
double total_of(const Tensor& squares, const Optimizer& optimizer) {
  const Parameters& variables = optimizer.variables();
  std::string mine = presence_of(variables);
  for (index_t i = 0; i < squares.count(); ++i) detail::append(mine, squares.data<double>()[i]);
  const std::vector<std::string> all = optimizer.processes()->all_gather(mine);
  check_presence(all, variables);
  std::vector<std::string_view> left(all.begin(), all.end());  // the sums of each process
  for (std::string_view& sums : left) sums.remove_prefix(variables.size());
  double total = 0;
  for (const Chunk& chunk : optimizer.chunks()) {
    if (!has_gradient(variables[static_cast<std::size_t>(chunk.parameter)])) continue;
    std::string_view& sums = left[static_cast<std::size_t>(chunk.owner)];
    for (index_t block = 0; block < blocks_of(chunk.count); ++block) {
      total += detail::take<double>(sums);
    }
  }
  return total;
}

/// `total(squares)` is the sum of the squares of all gradients, of which `pieces` may be a part.
template <class Total>
double clip(const std::vector<Piece>& pieces, double max_norm, const ClipOptions& options,
            const Total& total) {
  require(max_norm >= 0, kClipOp, "max_norm must be at least 0, got ", max_norm);
  detail::require_not_negative(kClipOp, "scale", options.scale);
  const double norm = options.scale * std::sqrt(total(squares_of(pieces)));
  require(!options.error_if_nonfinite || std::isfinite(norm), kClipOp,
          "the norm of the gradients must be finite, got ", norm);
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
  return clip(pieces, max_norm, options, [](const Tensor& squares) { return total_of(squares); });
}

double clip_grad_norm(const Optimizer& optimizer, double max_norm, const ClipOptions& options) {
  const Communicator* const processes = optimizer.processes();
  if (processes == nullptr) return clip_grad_norm(optimizer.variables(), max_norm, options);
  std::vector<Piece>& pieces = scratch();
  for (const Chunk& chunk : optimizer.chunks()) {
    if (chunk.owner != processes->rank()) continue;
    const Parameter& parameter = optimizer.variables()[static_cast<std::size_t>(chunk.parameter)];
    add(pieces, parameter, chunk.begin, chunk.count);
  }
  return clip(pieces, max_norm, options,
              [&](const Tensor& squares) { return total_of(squares, optimizer); });
}

}  // namespace tessera::nn
