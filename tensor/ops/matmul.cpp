#include "tessera/tensor/ops/matmul.h"

#include "tessera/tensor/autograd/recording.h"
#include "tessera/tensor/detail/loop.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/table.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/detail/product.h"

namespace tessera {

namespace {

using detail::as_matrix;
using detail::matrix_ref;
using detail::multiply_once;

/// The entries of a shape or strides for the axes before the matrix.
Dims leading(const Dims& dims) {
  return Dims(std::span(dims.begin(), dims.end() - 2));
}

/// One product for each index of the leading axes, which `a`, `b` and `out` share.
template <class T>
void multiply_batches(const Tensor& a, const Tensor& b, Tensor& out) {
  kernels::GemmArgs<T> args = {.m = out.size(-2),
                               .n = out.size(-1),
                               .k = a.size(-1),
                               .c = out.mutable_data<T>(),
                               .c_row = out.size(-1),
                               .a = matrix_ref<T>(a),
                               .b = matrix_ref<T>(b)};
  const auto& kernel = kernels::table<T>();
  if (out.rank() == 2) return multiply_once(kernel, args);
  const Shape batch = leading(out.shape());
  const auto plan =
      plan_loop<3>(batch, {leading(out.strides()), leading(a.strides()), leading(b.strides())});
  const index_t batches = element_count("matmul", batch);
  const index_t flops = 2 * args.m * args.n * args.k;

  // Each thread computes whole matrices if there are many; a few are divided among all threads.
  const bool spread = batches >= 2 * thread_count();
  const index_t cost = batches * flops / kernels::kFlopsPerOperation;
  const index_t workers = spread ? kernels::worker_count(batches, cost) : 1;
  args.workers = spread ? 1 : thread_count();
  const index_t room = kernel.gemm_workspace(args);
  Tensor workspace = Tensor::empty({workers, room}, dtype_of<T>);
  T* const memory = workspace.mutable_data<T>();
  detail::count_product(args, batches);
  kernels::parallel_tasks(batches, workers, [&](index_t number, index_t worker) {
    const auto offsets = element_offsets(plan, number);
    kernels::GemmArgs<T> one = args;
    one.c += offsets[0];
    one.a.data += offsets[1];
    one.b.data += offsets[2];
    one.workspace = memory + worker * room;
    kernel.gemm(one);
  });
}

/// The same for integers, exact modulo 2^64.
void multiply_integers(const Tensor& a, const Tensor& b, Tensor& out) {
  const Tensor columns = b.transpose(-2, -1).contiguous();
  const Tensor rows = a.contiguous();
  const index_t m = out.size(-2);
  const index_t n = out.size(-1);
  const index_t k = a.size(-1);
  auto* result = out.mutable_data<index_t>();
  const auto* x = rows.data<index_t>();
  const auto* y = columns.data<index_t>();
  kernels::parallel_for(out.count(), k, [&](index_t begin, index_t end) {
    for (index_t e = begin; e < end; ++e) {
      const index_t matrix = e / (m * n);
      const index_t* row = x + (e / n) * k;
      const index_t* column = y + (matrix * n + e % n) * k;
      std::uint64_t sum = 0;
      for (index_t p = 0; p < k; ++p) {
        sum += static_cast<std::uint64_t>(row[p]) * static_cast<std::uint64_t>(column[p]);
      }
      result[e] = static_cast<index_t>(sum);
    }
  });
}

/// The product of tensors that have at least two axes and the same dtype.
Tensor multiply(Tensor a, Tensor b) {
  // For one shared matrix, all leading axes of `a` are rows of one tall matrix.
  if (b.rank() == 2 && a.rank() > 2) {
    Shape shape = a.shape();
    shape[a.rank() - 1] = b.size(-1);
    return multiply(as_matrix(a), b).reshape(shape);
  }
  const auto with_matrix = [](Shape shape, index_t rows, index_t columns) {
    shape.push_back(rows);
    shape.push_back(columns);
    return shape;
  };
  Shape batch;
  if (b.rank() > 2) {
    batch = broadcast_shapes("matmul", leading(a.shape()), leading(b.shape()));
    a = a.expand(with_matrix(batch, a.size(-2), a.size(-1)));
    b = b.expand(with_matrix(batch, b.size(-2), b.size(-1)));
  }
  Tensor out = Tensor::empty(with_matrix(batch, a.size(-2), b.size(-1)), a.dtype());
  if (out.count() == 0) return out;
  if (is_floating(out.dtype())) {
    visit_floating(out.dtype(), [&](auto kind) { multiply_batches<decltype(kind)>(a, b, out); });
  } else {
    multiply_integers(a, b, out);
  }
  return out;
}

/// The product without the axes that were added to vectors.
Tensor without_vector_axes(Tensor out, index_t a_rank, index_t b_rank) {
  if (b_rank == 1) out = out.squeeze(-1);
  if (a_rank == 1) out = out.squeeze(b_rank == 1 ? -1 : -2);
  return out;
}

/// The gradients of multiply: the same product with one side transposed by its strides. `a` is only
/// defined if b needs a gradient, and vice versa. If a batch shares a matrix `b`, one product over
/// all rows computes its gradient.
void multiply_backward(const Tensor& a, const Tensor& b, bool shared, const Tensor& dy,
                       Gradients& dx) {
  if (dx.needs_gradient(0)) dx.add(0, multiply(dy, b.t()));
  if (!dx.needs_gradient(1)) return;
  dx.add(1, shared ? multiply(as_matrix(a).t(), as_matrix(dy)) : multiply(a.t(), dy));
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  require(a.defined() && b.defined(), "matmul",
          "operands must be defined, got an undefined tensor");
  require(a.rank() > 0 && b.rank() > 0, "matmul", "operands must have at least 1 axis, got ",
          a.shape(), " x ", b.shape());
  const DType dtype = promote(kInt64, promote(a.dtype(), b.dtype()));  // bool counts as int64
  // Vectors become matrices, which are separate variables: the views record themselves.
  const Tensor left = (a.rank() == 1 ? a.unsqueeze(0) : a).to(dtype);
  const Tensor right = (b.rank() == 1 ? b.unsqueeze(1) : b).to(dtype);
  require(left.size(-1) == right.size(-2), "matmul", "inner dimensions must be equal, got ",
          a.shape(), " x ", b.shape());
  Recording op("matmul", {&left, &right});
  Tensor out = op.finish(multiply(left, right), [&] {
    return [x = op.needs_gradient(1) ? op.save(left) : Saved(),
            y = op.needs_gradient(0) ? op.save(right) : Saved(),
            shared = right.rank() == 2 && left.rank() > 2](const Tensor& dy, Gradients& dx) {
      multiply_backward(x, y, shared, dy, dx);
    };
  });
  return without_vector_axes(out, a.rank(), b.rank());
}

Tensor outer(const Tensor& a, const Tensor& b) {
  require(a.defined() && b.defined(), "outer", "operands must be defined, got an undefined tensor");
  require(a.rank() == 1 && b.rank() == 1, "outer", "operands must have 1 axis, got shapes ",
          a.shape(), " and ", b.shape());
  return mul(a.unsqueeze(1), b);
}

}  // namespace tessera
