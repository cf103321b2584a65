#include "tensor/ops/gated_linear.h"

#include "tensor/autograd/recording.h"
#include "tensor/error.h"
#include "tensor/ops/detail/product.h"
#include "tensor/ops/matmul.h"

namespace tessera {

namespace {

void check(const Tensor& x, const WeightView& weight, const Tensor& bias) {
  constexpr const char* kOp = "gated_linear";
  require(x.defined() && weight.defined(), kOp,
          "x and weight must be defined, got an undefined tensor");
  require(weight.shape.size() == 2 && x.rank() >= 1 && x.size(-1) == weight.shape[1], kOp,
          "x and weight must have shapes (..., in) and (2 out, in), got ", x.shape(), " and ",
          weight.shape);
  require(weight.shape[0] % 2 == 0, kOp, "weight must have an even number of rows, got ",
          weight.shape);
  require(is_floating(x.dtype()) && x.dtype() == weight.dtype, kOp,
          "x and weight must have the same floating dtype, got ", x.dtype(), " and ", weight.dtype);
  if (!bias.defined()) return;
  require(bias.shape() == Shape{weight.shape[0]} && bias.dtype() == x.dtype(), kOp, "bias must be ",
          x.dtype(), ' ', Shape{weight.shape[0]}, " for weight ", weight.shape, ", got ",
          bias.dtype(), ' ', bias.shape());
}

/// The output into `out`, and both halves before the activation into `halves` if it is defined.
template <class T>
void run(const Tensor& x, const WeightView& weight, const Tensor& bias, Activation activation,
         Tensor& out, Tensor& halves) {
  const detail::Factor factor = weight.factor(detail::PanelOrder::kGated);
  const Tensor rows = detail::left_of(factor, x);
  kernels::GemmArgs<T> args = detail::gemm_args<T>(rows, factor, out);
  args.gated = true;
  args.activation = activation;
  if (halves.defined()) args.activated = halves.mutable_data<T>();
  const Tensor addend = bias.defined() ? bias.contiguous() : bias;
  if (addend.defined()) args.bias = addend.data<T>();
  detail::multiply_once(args);
}

/// The gradient by both halves, (rows, 2F), from that of the output.
Tensor halves_gradient(const Tensor& halves, Activation activation, const Tensor& dy) {
  constexpr index_t kCost = 20;  // an activation and its slope, in elementary operations
  const Tensor rows = detail::as_matrix(dy).contiguous();
  const index_t n = rows.size(1);
  Tensor dz = Tensor::empty({rows.size(0), 2 * n}, dy.dtype());
  visit_floating(dy.dtype(), [&](auto kind) {
    using T = decltype(kind);
    const auto kernel = kernels::table().of<T>().gated_gradient;
    const T* const z = halves.data<T>();
    const T* const from = rows.data<T>();
    T* const to = dz.mutable_data<T>();
    kernels::parallel_for(rows.size(0), kCost * n, [&](index_t begin, index_t end) {
      for (index_t row = begin; row < end; ++row) {
        kernel(activation, n, z + row * 2 * n, from + row * n, to + row * 2 * n);
      }
    });
  });
  return dz;
}

/// What the backward reads; nothing of what no wanted gradient needs.
struct GatedSaved {
  Saved x, weight, halves;
  Activation activation = Activation::kNone;
};

/// The gradients by x, weight and bias.
void gated_linear_backward(const GatedSaved& saved, const Tensor& dy, Gradients& dx) {
  const Tensor dz = halves_gradient(saved.halves, saved.activation, dy);
  if (dx.wanted(0)) {
    const Tensor& weight = saved.weight;
    Shape shape = dy.shape();
    shape.back() = weight.size(1);
    dx.add(0, matmul(dz, weight).reshape(shape));
  }
  if (dx.wanted(1)) dx.add(1, matmul(dz.t(), detail::as_matrix(saved.x)));
  dx.add(2, dz);
}

}  // namespace

Tensor gated_linear(const Tensor& x, const WeightView& weight, const Tensor& bias,
                    Activation activation) {
  check(x, weight, bias);
  require_enum("gated_linear", "activation", activation, Activation::kSilu);
  Recording op("gated_linear", {&x, &weight.elements, &bias});
  detail::check_frozen("gated_linear", op, weight);
  Shape shape = x.shape();
  shape.back() = weight.shape[0] / 2;
  Tensor out = Tensor::empty(shape, x.dtype());
  Tensor rows = detail::as_matrix(out);
  Tensor halves = op ? Tensor::empty({rows.size(0), weight.shape[0]}, x.dtype()) : Tensor();
  if (out.count() > 0) {
    visit_floating(x.dtype(), [&](auto kind) {
      run<decltype(kind)>(detail::as_matrix(x), weight, bias, activation, rows, halves);
    });
  }
  return op.finish(out, [&] {
    GatedSaved saved;
    if (op.wanted(1)) saved.x = op.save(x);
    if (op.wanted(0)) saved.weight = op.save(weight.elements);
    saved.halves = op.save(halves);
    saved.activation = activation;
    return [saved](const Tensor& dy, Gradients& dx) { gated_linear_backward(saved, dy, dx); };
  });
}

}  // namespace tessera
