#include "tessera/nn/parameter_source.h"

#include <cmath>
#include <utility>

#include "tessera/nn/detail/check.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/arithmetic.h"

namespace tessera::nn {

namespace init {

Init linear_uniform(index_t fan_in) {
  detail::require_count("linear_uniform", "fan_in", fan_in);
  if (fan_in == 0) return constant(0);
  const double bound = 1 / std::sqrt(static_cast<double>(fan_in));
  return [bound](const Shape& shape, Rng& rng) {
    return uniform(-bound, bound, shape, kFloat32, rng);
  };
}

Tensor xavier_uniform(const Shape& shape, Rng& rng) {
  require(shape.size() == 2, "xavier_uniform", "shape must be (fan_out, fan_in), got ", shape);
  if (element_count("xavier_uniform", shape) == 0) return zeros(shape);
  const double bound = std::sqrt(6 / static_cast<double>(shape[0] + shape[1]));
  return uniform(-bound, bound, shape, kFloat32, rng);
}

Init normal(double std) {
  detail::require_not_negative("normal", "std", std);
  return [std](const Shape& shape, Rng& rng) {
    const Tensor unit = randn(shape, kFloat32, rng);
    return std == 1 ? unit : unit * std;
  };
}

Init constant(double value) {
  return [value](const Shape& shape, Rng&) { return full(shape, value, kFloat32); };
}

}  // namespace init

namespace {

/// x, marked as a parameter that no module has named yet.
Tensor unnamed(const std::string& name, const Tensor& x) {
  if (x.defined()) x.storage().mark_unnamed(name);
  return x;
}

}  // namespace

ParameterSource::ParameterSource(Rng& rng)
    : ParameterSource(Find([&rng](const std::string& name, const Shape& shape, const Init& init) {
        return unnamed(name, init(shape, rng));
      })) {}

ParameterSource::ParameterSource(StateDict state)
    : ParameterSource(
          Find([state = std::move(state)](const std::string& name, const Shape&, const Init&) {
            const auto found = state.find(name);
            require(found != state.end(), "ParameterSource", printable(name),
                    " must be in the state, got ", state.size(), " other names");
            const Tensor& x = found->second;
            if (!x.defined()) return Tensor();
            const bool floats = is_floating(x.dtype());
            return unnamed(name, (floats ? x.detach().to(kFloat32) : x).contiguous());
          })) {}

ParameterSource::ParameterSource(Find find)
    : find_(std::make_shared<const Find>(std::move(find))) {}

Tensor ParameterSource::operator()(std::string_view name, const Shape& shape,
                                   const Init& init) const {
  const std::string full_name = detail::join_names(module_, name);
  Tensor found = (*find_)(full_name, shape, init);
  require(found.defined() && is_floating(found.dtype()), "ParameterSource", printable(full_name),
          " must be a floating tensor, got ",
          found.defined() ? str_cat(found.dtype()) : "an undefined one");
  require(found.shape() == shape, "ParameterSource", printable(full_name), " must have shape ",
          shape, ", got ", found.shape());
  return found;
}

ParameterSource ParameterSource::operator[](std::string_view part) const {
  ParameterSource result = *this;
  result.module_ = detail::join_names(module_, part);
  return result;
}

}  // namespace tessera::nn
