#include "tessera/tensor/ops/linear.h"

#include "tessera/tensor/autograd/recording.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/detail/map.h"
#include "tessera/tensor/ops/detail/product.h"
#include "tessera/tensor/ops/detail/rotation.h"
#include "tessera/tensor/ops/matmul.h"

namespace tessera {

namespace {

using detail::as_matrix;

constexpr const char* kLinearOp = "linear";
constexpr const char* kRotaryOp = "rotary_linear";
constexpr const char* kGatedOp = "gated_linear";

/// The shape of x's product with a weight of `columns` rows.
Shape product_shape(const Tensor& x, index_t columns) {
  Shape shape = x.shape();
  shape.back() = columns;
  return shape;
}

void check_operands(const char* op, bool is_gated, const Tensor& x, const Weight& weight,
                    const Tensor& bias) {
  require(x.defined() && weight.defined(), op,
          "x and weight must be defined, got an undefined tensor");
  require(weight.rank() == 2 && x.rank() >= 1 && x.size(-1) == weight.size(1), op,
          "x and weight must have shapes (..., in) and (", is_gated ? "2 out" : "out",
          ", in), got ", x.shape(), " and ", weight.shape());
  require(!is_gated || weight.size(0) % 2 == 0, op, "weight must have an even number of rows, got ",
          weight.shape());
  require(is_floating(x.dtype()) && x.dtype() == weight.dtype(), op,
          "x and weight must have the same floating dtype, got ", x.dtype(), " and ",
          weight.dtype());
  if (!bias.defined()) return;
  require(bias.shape() == Shape{weight.size(0)} && bias.dtype() == x.dtype(), op, "bias must be ",
          x.dtype(), ' ', Shape{weight.size(0)}, " for weight ", weight.shape(), ", got ",
          bias.dtype(), ' ', bias.shape());
}

void check_residual(const Tensor& x, const Weight& weight, const Tensor& residual) {
  if (!residual.defined()) return;
  const Shape wanted = product_shape(x, weight.size(0));
  require(residual.shape() == wanted && residual.dtype() == x.dtype(), kLinearOp,
          "residual must be ", x.dtype(), ' ', wanted, " like the output, got ", residual.dtype(),
          ' ', residual.shape());
}

/// The rotation of heads of a layer's output, for the layer's input x (..., T, K).
detail::HeadRotation checked_columns(const Tensor& x, const Weight& weight,
                                     const RotaryColumns& columns) {
  const auto& [rotation, heads, width] = columns;
  require(heads >= 1 && width >= 1 && width <= weight.size(0) / heads, kRotaryOp,
          "rotary heads must fit an output of width ", weight.size(0), ", got ", heads,
          " of width ", width);
  Shape tokens = x.shape();
  tokens.erase(tokens.size() - 1);
  if (tokens.empty()) tokens.push_back(1);
  return detail::checked_rotation(kRotaryOp, rotation, tokens, heads, width, x.dtype());
}

/// Throws if a gradient must pass a weight that is prepacked or rounded.
/// Panels are made for x W^T: the gradient of x, dz W, cannot read them.
void check_passes_gradient(const char* op, const Recording& recording, const Weight& weight) {
  const bool passes = recording.needs_gradient(0) || recording.needs_gradient(1);
  require(!passes || !weight.is_prepacked_or_rounded(), op, "weight ", weight.shape(),
          " must not be prepacked or rounded if a gradient is required; call unpack() first");
}

/// The product of int8 in place of `product`. Rounds each row of x (m, k) to 8 bits; a row with inf
/// or NaN gives a row of NaN.
void multiply_int8(const Tensor& x, const detail::WeightPanels& weight,
                   kernels::GemmArgs<float> product) {
  const kernels::Int8Kernels& kernel = *weight.kernels().int8;
  const bool dots = kernels::dot_products(weight.kernels());
  product.workers = thread_count();
  const index_t words = product.m * kernel.row_size(product.k, dots);
  const index_t room = kernel.workspace(product, dots);
  const Storage memory = Storage::allocate((words + room + 2 * product.m) * index_t{4});
  auto* const codes = reinterpret_cast<std::uint32_t*>(memory.data());
  product.workspace = reinterpret_cast<float*>(codes + words);
  auto* const scales = product.workspace + room;
  auto* const zeros = reinterpret_cast<std::int32_t*>(scales + product.m);
  const kernels::Int8Rows rows = {dots, codes, scales, zeros};
  kernel.quantize_rows(product.m, product.k, detail::matrix_ref<float>(x), rows);
  detail::count_product(product, 1, sizeof(std::int8_t));
  kernel.gemm({product, rows, weight.int8()});
}

/// out = x weight^T, then `bias` and the rest of the epilogue.
template <class T>
void run_product(const Tensor& x, const Weight& weight, const Tensor& bias,
                 kernels::Epilogue<T> epilogue, Tensor& out) {
  const Tensor addend = bias.defined() ? bias.contiguous() : bias;
  epilogue.bias = addend.defined() ? addend.data<T>() : nullptr;
  const Tensor rows = as_matrix(x);
  kernels::GemmArgs<T> args = {.m = rows.size(0),
                               .n = out.size(-1),
                               .k = rows.size(1),
                               .c = out.mutable_data<T>(),
                               .c_row = out.size(-1),
                               .a = detail::matrix_ref<T>(rows),
                               .epilogue = epilogue};
  const std::shared_ptr<const detail::WeightPanels> panels = weight.panels(epilogue.gated);
  if constexpr (std::is_same_v<T, float>) {
    if (panels->format() == WeightFormat::kInt8) {
      return multiply_int8(rows, *panels, args);
    }
  }
  args.packed_b = panels->exact<T>();
  detail::multiply_once(panels->kernels().of<T>(), args);
}

template <class T>
T* data_of(Tensor& x) {
  return x.defined() ? x.mutable_data<T>() : nullptr;
}

/// The tensors that the backward of a product reads, as far as the required gradients need them.
struct ProductSaved {
  Saved x, weight;

  ProductSaved(const Recording& op, const Tensor& input, const Weight& factor) {
    if (op.needs_gradient(1)) x = op.save(input);
    if (op.needs_gradient(0)) weight = op.save(*factor);
  }

  /// The gradients of z = x weight^T + bias, in the order (x, weight, bias), from dz. `dy`, the
  /// gradient of the op's output, has x's shape except for the last axis.
  void add_gradients(const Tensor& dy, const Tensor& dz, Gradients& dx) const {
    const Tensor rows = as_matrix(dz);
    if (dx.needs_gradient(0)) {
      const Tensor& factor = weight;
      dx.add(0, matmul(rows, factor).reshape(product_shape(dy, factor.size(1))));
    }
    if (dx.needs_gradient(1)) dx.add(1, matmul(rows.t(), as_matrix(x)));
    dx.add(2, dz);
  }
};

/// The gradient with regard to both halves, (rows, 2F), from that of the output.
Tensor halves_gradient(const Tensor& halves, Activation activation, const Tensor& dy) {
  constexpr index_t kCost = 20;  // an activation and its slope, in elementary operations
  const Tensor rows = as_matrix(dy).contiguous();
  const index_t n = rows.size(1);
  Tensor dz = Tensor::empty(halves.shape(), dy.dtype());
  visit_floating(dy.dtype(), [&](auto kind) {
    using T = decltype(kind);
    const auto kernel = kernels::table<T>().gated_gradient;
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

}  // namespace

Tensor linear(const Tensor& x, const Weight& weight, const Tensor& bias, Activation activation,
              const Tensor& residual) {
  check_operands(kLinearOp, false, x, weight, bias);
  require_enum(kLinearOp, "activation", activation, Activation::kSilu);
  check_residual(x, weight, residual);
  Recording op(kLinearOp, {&x, &weight.elements_or_none(), &bias, &residual});
  check_passes_gradient(kLinearOp, op, weight);
  Tensor out = Tensor::empty(product_shape(x, weight.size(0)), x.dtype());
  // The gradient of an activation reads the argument; ReLU's can read the result instead.
  const bool is_active = activation != Activation::kNone;
  const bool reads_result = activation == Activation::kRelu && !residual.defined();
  Tensor argument =
      op && is_active && !reads_result ? Tensor::empty(out.shape(), x.dtype()) : Tensor();
  if (out.count() > 0) {
    Tensor rows = residual.defined() ? as_matrix(residual) : Tensor();
    if (rows.defined() && rows.size(1) > 1 && rows.strides()[1] != 1) rows = rows.contiguous();
    visit_floating(x.dtype(), [&](auto kind) {
      using T = decltype(kind);
      kernels::Epilogue<T> end = {.function = activation, .z = data_of<T>(argument)};
      if (rows.defined()) {
        end.residual = rows.data<T>();
        end.residual_row = rows.strides()[0];
      }
      run_product<T>(x, weight, bias, end, out);
    });
  }
  return op.finish(out, [&] {
    const Saved read = is_active ? op.save(reads_result ? out : argument) : Saved();
    return [saved = ProductSaved(op, x, weight), activation, is_active, read](const Tensor& dy,
                                                                              Gradients& dx) {
      dx.add(3, dy);
      if (!dx.needs_gradient(0) && !dx.needs_gradient(1) && !dx.needs_gradient(2)) return;
      const Tensor dz =
          is_active ? detail::unary_gradient(kernels::function_of(activation), read, dy) : dy;
      saved.add_gradients(dy, dz, dx);
    };
  });
}

Tensor rotary_linear(const Tensor& x, const Weight& weight, const Tensor& bias,
                     const RotaryColumns& columns) {
  check_operands(kRotaryOp, false, x, weight, bias);
  const detail::HeadRotation rotation = checked_columns(x, weight, columns);
  Recording op(kRotaryOp, {&x, &weight.elements_or_none(), &bias});
  check_passes_gradient(kRotaryOp, op, weight);
  Tensor out = Tensor::empty(product_shape(x, weight.size(0)), x.dtype());
  if (out.count() > 0) {
    visit_floating(x.dtype(), [&](auto kind) {
      using T = decltype(kind);
      run_product<T>(x, weight, bias, {.rotation = rotation.for_kernel<T>()}, out);
    });
  }
  return op.finish(out, [&] {
    return [saved = ProductSaved(op, x, weight), rotation = detail::SavedRotation(op, rotation)](
               const Tensor& dy, Gradients& dx) {
      saved.add_gradients(dy, detail::rotate_columns_back(rotation.get(), dy), dx);
    };
  });
}

Tensor gated_linear(const Tensor& x, const Weight& weight, const Tensor& bias,
                    Activation activation) {
  check_operands(kGatedOp, true, x, weight, bias);
  require_enum(kGatedOp, "activation", activation, Activation::kSilu);
  Recording op(kGatedOp, {&x, &weight.elements_or_none(), &bias});
  check_passes_gradient(kGatedOp, op, weight);
  Tensor out = Tensor::empty(product_shape(x, weight.size(0) / 2), x.dtype());
  const index_t rows = as_matrix(out).size(0);
  Tensor halves = op ? Tensor::empty({rows, weight.size(0)}, x.dtype()) : Tensor();
  if (out.count() > 0) {
    visit_floating(x.dtype(), [&](auto kind) {
      using T = decltype(kind);
      run_product<T>(x, weight, bias,
                     {.function = activation, .gated = true, .z = data_of<T>(halves)}, out);
    });
  }
  return op.finish(out, [&] {
    return [saved = ProductSaved(op, x, weight), halves = op.save(halves), activation](
               const Tensor& dy, Gradients& dx) {
      saved.add_gradients(dy, halves_gradient(halves, activation, dy), dx);
    };
  });
}

}  // namespace tessera
