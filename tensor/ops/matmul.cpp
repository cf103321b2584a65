#include "tensor/ops/matmul.h"

#include "tensor/autograd/recording.h"
#include "tensor/detail/loop.h"
#include "tensor/error.h"
#include "tensor/kernels/dispatch.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/detail/map.h"
#include "tensor/ops/detail/product.h"
#include "tensor/ops/detail/turn.h"

namespace tessera {

namespace {

using detail::as_matrix;
using detail::gemm_args;
using detail::multiply_once;

/// Of a shape or strides, what belongs to the axes in front of the matrix.
Dims leading(const Dims& dims) {
  return Dims(std::span(dims.begin(), dims.end() - 2));
}

/// One product for each index of the leading axes, which `a` and `b` share with `out`.
template <class T>
void multiply_batches(const Tensor& a, const Tensor& b, Tensor& out) {
  kernels::GemmArgs<T> args = gemm_args<T>(a, b, out);
  if (out.rank() == 2) return multiply_once(args);
  const auto& kernel = kernels::table().of<T>();
  const Shape batch = leading(out.shape());
  const auto plan =
      plan_loop<3>(batch, {leading(out.strides()), leading(a.strides()), leading(b.strides())});
  const index_t batches = element_count("matmul", batch);
  const index_t flops = 2 * args.m * args.n * args.k;

  // Many matrices go to one thread each; few are cut among all threads.
  const bool spread = batches >= 2 * thread_count();
  const index_t cost = batches * flops / kernels::kFlopsPerOperation;
  const index_t workers = spread ? kernels::worker_count(batches, cost) : 1;
  args.workers = spread ? 1 : thread_count();
  const index_t room = kernel.gemm_workspace(args);
  Tensor workspace = Tensor::empty({workers, room}, dtype_of<T>);
  T* const memory = workspace.mutable_data<T>();
  kernels::parallel_tasks(batches, workers, [&](index_t number, index_t worker) {
    const auto offsets = element_offsets(plan, number);
    kernels::GemmArgs<T> one = args;
    one.c += offsets[0];
    one.a += offsets[1];
    one.b += offsets[2];
    one.workspace = memory + worker * room;
    kernel.gemm(one);
  });
}

/// The same for integers, exactly (modulo 2^64).
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

/// The product of tensors of at least two axes and one dtype.
Tensor multiply(Tensor a, Tensor b) {
  // Against one shared matrix, all leading axes of `a` are rows of one tall matrix.
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
  const Shape batch = broadcast_shapes("matmul", leading(a.shape()), leading(b.shape()));
  a = a.expand(with_matrix(batch, a.size(-2), a.size(-1)));
  b = b.expand(with_matrix(batch, b.size(-2), b.size(-1)));
  Tensor out = Tensor::empty(with_matrix(batch, a.size(-2), b.size(-1)), a.dtype());
  if (out.count() == 0) return out;
  if (is_floating(out.dtype())) {
    visit_floating(out.dtype(), [&](auto kind) { multiply_batches<decltype(kind)>(a, b, out); });
  } else {
    multiply_integers(a, b, out);
  }
  return out;
}

/// The product without the axes that stand for vectors.
Tensor without_vector_axes(Tensor out, index_t a_rank, index_t b_rank) {
  if (b_rank == 1) out = out.squeeze(-1);
  if (a_rank == 1) out = out.squeeze(b_rank == 1 ? -1 : -2);
  return out;
}

/// The gradients of multiply: the same product with one side transposed, by strides alone. Of `a` and
/// `b`, each is there only where the other's gradient is wanted. A matrix `b` that is shared by a
/// batch gathers from all of its rows in one product.
void multiply_backward(const Tensor& a, const Tensor& b, bool shared, const Tensor& dy,
                       Gradients& dx) {
  if (dx.wanted(0)) dx.add(0, multiply(dy, b.t()));
  if (!dx.wanted(1)) return;
  dx.add(1, shared ? multiply(as_matrix(a).t(), as_matrix(dy)) : multiply(a.t(), dy));
}

}  // namespace

Tensor matmul(const Tensor& a, const Tensor& b) {
  require(a.defined() && b.defined(), "matmul",
          "operands must be defined, got an undefined tensor");
  require(a.rank() > 0 && b.rank() > 0, "matmul", "operands must have at least 1 axis, got ",
          a.shape(), " x ", b.shape());
  const DType dtype = promote(kInt64, promote(a.dtype(), b.dtype()));  // bool counts as int64
  // Vectors become matrices, and are variables of their own: the views record themselves.
  const Tensor left = (a.rank() == 1 ? a.unsqueeze(0) : a).to(dtype);
  const Tensor right = (b.rank() == 1 ? b.unsqueeze(1) : b).to(dtype);
  require(left.size(-1) == right.size(-2), "matmul", "inner dimensions must be equal, got ",
          a.shape(), " x ", b.shape());
  Recording op("matmul", {&left, &right});
  Tensor out = op.finish(multiply(left, right), [&] {
    return [x = op.wanted(1) ? op.save(left) : Saved(), y = op.wanted(0) ? op.save(right) : Saved(),
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

namespace {

void check_linear(const Tensor& x, const WeightView& weight, const Tensor& bias,
                  const Tensor& residual) {
  constexpr const char* kOp = "linear";
  require(x.defined() && weight.defined(), kOp,
          "x and weight must be defined, got an undefined tensor");
  require(weight.shape.size() == 2 && x.rank() >= 1 && x.size(-1) == weight.shape[1], kOp,
          "x and weight must have shapes (..., in) and (out, in), got ", x.shape(), " and ",
          weight.shape);
  require(is_floating(x.dtype()) && x.dtype() == weight.dtype, kOp,
          "x and weight must have the same floating dtype, got ", x.dtype(), " and ", weight.dtype);
  if (bias.defined()) {
    require(bias.shape() == Shape{weight.shape[0]} && bias.dtype() == x.dtype(), kOp,
            "bias must be ", x.dtype(), ' ', Shape{weight.shape[0]}, " for weight ", weight.shape,
            ", got ", bias.dtype(), ' ', bias.shape());
  }
  if (residual.defined()) {
    Shape wanted = x.shape();
    wanted.back() = weight.shape[0];
    require(residual.shape() == wanted && residual.dtype() == x.dtype(), kOp, "residual must be ",
            x.dtype(), ' ', wanted, " like the output, got ", residual.dtype(), ' ',
            residual.shape());
  }
}

/// How the epilogue turns heads of the output of x (..., T, K); a default Turn if it does not.
detail::Turn check_rotary(const Tensor& x, const WeightView& weight,
                          const LinearEpilogue& epilogue) {
  constexpr const char* kOp = "linear";
  const auto& [rotation, heads, width] = epilogue.rotary;
  if (!rotation.table.defined()) return {};
  require(epilogue.activation == Activation::kNone && !epilogue.residual.defined(), kOp,
          "rotary must not be combined with an activation or a residual");
  require(heads >= 1 && width >= 1 && width <= weight.shape[0] / heads, kOp,
          "rotary heads must fit an output of width ", weight.shape[0], ", got ", heads,
          " of width ", width);
  Shape tokens = x.shape();
  tokens.erase(tokens.size() - 1);
  if (tokens.empty()) tokens.push_back(1);
  return detail::checked_turn(kOp, rotation, tokens, heads, width, x.dtype());
}

template <class T>
void run_linear(const Tensor& x, const WeightView& weight, const Tensor& bias,
                const LinearEpilogue& epilogue, const detail::Turn& turn, Tensor& out,
                Tensor& activated) {
  const detail::Factor factor = weight.factor(detail::PanelOrder::kPlain);
  const Tensor rows = detail::left_of(factor, x);
  kernels::GemmArgs<T> args = gemm_args<T>(rows, factor, out);
  args.activation = epilogue.activation;
  if (activated.defined()) args.activated = activated.mutable_data<T>();
  const Tensor addend = bias.defined() ? bias.contiguous() : bias;
  if (addend.defined()) args.bias = addend.data<T>();
  Tensor residual;
  if (epilogue.residual.defined()) {
    residual = as_matrix(epilogue.residual);
    if (residual.size(1) > 1 && residual.strides()[1] != 1) residual = residual.contiguous();
    args.residual = residual.data<T>();
    args.residual_row = residual.strides()[0];
  }
  kernels::RotaryArgs<T> rotary = {};
  if (turn) {
    rotary = turn.args<T>();
    args.rotary = &rotary;
  }
  multiply_once(args);
}

/// What stands for an activation that is one.
kernels::UnaryOp function_of(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      return kernels::UnaryOp::kRelu;
    case Activation::kGelu:
      return kernels::UnaryOp::kGelu;
    case Activation::kGeluTanh:
      return kernels::UnaryOp::kGeluTanh;
    case Activation::kSilu:
      return kernels::UnaryOp::kSilu;
  }
  __builtin_unreachable();
}

/// What the backward of linear reads; nothing of what no wanted gradient needs.
struct LinearSaved {
  Saved x, weight;
  Activation activation = Activation::kNone;
  Saved activated;  // what the activation was applied to, or its result where that is enough
  detail::SavedTurn turn = {};  // where heads were turned
};

/// The gradient of x W^T + bias, from that of the result.
Tensor product_gradient(const LinearSaved& saved, const Tensor& dy) {
  if (saved.turn) return detail::turn_columns_back(saved.turn.get(), dy);
  if (saved.activation == Activation::kNone) return dy;
  return detail::unary_gradient(function_of(saved.activation), saved.activated, dy);
}

/// The gradients of activation(x W^T + bias) + residual, in the order (x, weight, bias, residual).
/// The forward product reads panels of W^T; dz W here reads W, whose panels would be others.
void linear_backward(const LinearSaved& saved, const Tensor& dy, Gradients& dx) {
  dx.add(3, dy);
  if (!dx.wanted(0) && !dx.wanted(1) && !dx.wanted(2)) return;
  const Tensor dz = product_gradient(saved, dy);
  const Tensor rows = as_matrix(dz);
  if (dx.wanted(0)) {
    const Tensor& weight = saved.weight;
    Shape shape = dy.shape();
    shape.back() = weight.size(1);
    dx.add(0, multiply(rows, weight).reshape(shape));
  }
  if (dx.wanted(1)) dx.add(1, multiply(rows.t(), as_matrix(saved.x)));
  dx.add(2, dz);
}

}  // namespace

Tensor linear(const Tensor& x, const WeightView& weight, const Tensor& bias,
              const LinearEpilogue& epilogue) {
  const Tensor& residual = epilogue.residual;
  check_linear(x, weight, bias, residual);
  require_enum("linear", "activation", epilogue.activation, Activation::kSilu);
  const detail::Turn turn = check_rotary(x, weight, epilogue);
  Recording op("linear", {&x, &weight.elements, &bias, &residual});
  detail::check_frozen("linear", op, weight);
  Shape shape = x.shape();
  shape.back() = weight.shape[0];
  Tensor out = Tensor::empty(shape, x.dtype());
  Tensor rows = as_matrix(out);
  // The gradient of an activation reads its argument; of ReLU, its result does as well.
  const bool is_active = epilogue.activation != Activation::kNone;
  const bool reads_result = epilogue.activation == Activation::kRelu && !residual.defined();
  Tensor activated = op && is_active && !reads_result ? Tensor::empty(shape, x.dtype()) : Tensor();
  if (out.count() > 0) {
    visit_floating(x.dtype(), [&](auto kind) {
      run_linear<decltype(kind)>(as_matrix(x), weight, bias, epilogue, turn, rows, activated);
    });
  }
  return op.finish(out, [&] {
    LinearSaved saved;
    if (op.wanted(1)) saved.x = op.save(x);
    if (op.wanted(0)) saved.weight = op.save(weight.elements);
    saved.activation = epilogue.activation;
    if (is_active) saved.activated = op.save(reads_result ? out : activated);
    if (turn) saved.turn = detail::SavedTurn(op, turn);
    return [saved](const Tensor& dy, Gradients& dx) { linear_backward(saved, dy, dx); };
  });
}

}  // namespace tessera
