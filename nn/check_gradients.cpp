#include "tessera/nn/check_gradients.h"

#include <cmath>
#include <string>

#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/reduce.h"
#include "tessera/tensor/random.h"

namespace tessera::nn {

namespace {

constexpr const char* kCheckOp = "check_gradients";

/// A tensor whose gradient is checked. The handle shares the memory and the gradient.
struct Checked {
  std::string name;
  Tensor tensor;
};

/// The value of the function as one number, computed with the same random numbers each time.
Tensor value_of(const std::function<Tensor()>& function) {
  const Tensor y = [&] {
    const RngScope same_numbers(default_rng());
    return function();
  }();
  require(y.dtype() == kFloat64, kCheckOp, "result of the function must be float64, got ",
          y.dtype());
  if (y.count() == 1) return y.reshape({});
  Rng rng(0);
  return sum(y * uniform(0.5, 1.5, y.shape(), kFloat64, rng));
}

/// The central difference for the only element of `x`.
double central_difference(const std::function<Tensor()>& function, Tensor x, double eps) {
  const double before = x.item();
  const auto value_at = [&](double value) {
    x.fill(value);
    return value_of(function).item();
  };
  try {
    const double above = value_at(before + eps);
    const double below = value_at(before - eps);
    x.fill(before);
    return (above - below) / (2 * eps);
  } catch (...) {
    x.fill(before);
    throw;
  }
}

/// The indices of element `position` in row-major order.
Dims place_of(index_t position, const Shape& shape) {
  Dims place = shape;
  for (index_t axis = shape.size() - 1; axis >= 0; --axis) {
    place[axis] = position % shape[axis];
    position /= shape[axis];
  }
  return place;
}

void check_tensor(const std::function<Tensor()>& function, const std::string& name, const Tensor& x,
                  const GradientCheckOptions& options) {
  const Tensor gradient = x.grad();
  require(gradient.defined() && gradient.shape() == x.shape(), kCheckOp, name,
          " must have a gradient of shape ", x.shape(), ", got ",
          gradient.defined() ? str_cat(gradient.shape()) : "none",
          "; use the tensor in the function, or call set_requires_grad(part, false)");
  Rng rng(0);
  const index_t count = x.count();
  const Tensor positions =
      count <= options.elements ? arange(count) : randint(0, count, {options.elements}, rng);
  for (const index_t position : positions.to_vector<index_t>()) {
    const Dims place = place_of(position, x.shape());
    Tensor element = x.detach();
    for (const index_t index : place) element = element.select(0, index);
    const double wanted = central_difference(function, element, options.eps);
    const double got = gradient.item_at(place);
    const double tolerance = options.atol + options.rtol * std::abs(wanted);
    require(std::isfinite(wanted) && std::abs(got - wanted) <= tolerance, kCheckOp, "gradient of ",
            name, " at ", place, " must be within ", tolerance, " of the central difference ",
            wanted, ", got ", got);
  }
}

void check_all(const std::function<Tensor()>& function, std::vector<Checked>& tensors,
               const GradientCheckOptions& options) {
  require(!tensors.empty(), kCheckOp,
          "number of tensors that require a gradient must be at least 1, got 0; call "
          "nn::set_requires_grad(model) first");
  for (auto& [name, x] : tensors) {
    require(x.dtype() == kFloat64, kCheckOp, name, " must be float64, got ", x.dtype(),
            "; call nn::convert(model, kFloat64) or to(kFloat64)");
    x.zero_grad();
  }
  {
    Tape tape;
    const Tensor y = value_of(function);
    if (tape.has_recorded(y)) tape.backward(y);
  }
  const NoGrad pause;
  const double first = value_of(function).item();
  const double second = value_of(function).item();
  require(std::isfinite(first) && first == second, kCheckOp,
          "value must be finite and the same in each call, got ", first, " and ", second,
          "; draw random numbers from default_rng()");
  for (const auto& [name, x] : tensors) check_tensor(function, name, x, options);
  for (auto& [name, x] : tensors) x.zero_grad();
}

}  // namespace

void detail::check_gradients(const Parts& parts, const std::function<Tensor()>& loss,
                             const GradientCheckOptions& options) {
  std::vector<Checked> parameters;
  parts.for_each(
      [&](const std::string& name, const Tensor& x) {
        if (x.requires_grad()) parameters.push_back({"parameter " + name, x});
      },
      refuse_prepacked);
  check_all(loss, parameters, options);
}

void check_gradients(const std::function<Tensor(std::span<const Tensor> inputs)>& f,
                     const std::vector<Tensor>& inputs, const GradientCheckOptions& options) {
  std::vector<Tensor> xs;
  std::vector<Checked> checked;
  for (const Tensor& input : inputs) {
    const bool is_checked = input.defined() && is_floating(input.dtype());
    xs.push_back(is_checked ? input.detach().clone().set_requires_grad() : input);
    if (is_checked) checked.push_back({str_cat("input ", xs.size() - 1), xs.back()});
  }
  check_all([&] { return f(xs); }, checked, options);
}

}  // namespace tessera::nn
