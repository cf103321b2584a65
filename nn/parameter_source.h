// The source of a module's parameters, and the initial values of new ones.
//
//   nn::Linear drawn(4, 8);                             // from the thread's random numbers
//   nn::Linear also(4, 8, rng);                         // from a given generator
//   nn::Linear read(4, 8, nn::ParameterSource(load_safetensors("linear.safetensors").tensors));
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "tessera/nn/state_dict.h"
#include "tessera/tensor/random.h"
#include "tessera/tensor/tensor.h"

namespace tessera::nn {

/// Makes the initial value of a parameter: a tensor of this shape, drawn from `rng` if the value is
/// random. **Errors** of the functions below, in addition to their own: as Tensor::empty.
using Init = std::function<Tensor(const Shape& shape, Rng& rng)>;

/// The initial values, with the names of torch.nn.init.
namespace init {

/// U(-1/sqrt(fan_in), 1/sqrt(fan_in)): PyTorch's initial value for the weight and bias of a linear
/// layer (kaiming_uniform with a = sqrt(5)). **Errors**: a negative fan_in.
/// **Source**: torch.nn.Linear.reset_parameters.
Init linear_uniform(index_t fan_in);

/// U(-b, b) with b = sqrt(6 / (fan_in + fan_out)), for a weight of shape (fan_out, fan_in); this
/// function is an Init itself. **Errors**: a shape without two axes.
/// **Source**: Glorot and Bengio, "Understanding the difficulty of training deep feedforward neural
/// networks", 2010, equation 16; torch.nn.init.xavier_uniform_.
Tensor xavier_uniform(const Shape& shape, Rng& rng);

/// N(0, std^2). **Errors**: a std that is negative or not finite.
/// **Source**: torch.nn.init.normal_.
Init normal(double std);

/// `value` in every element; draws no random numbers.
/// **Source**: torch.nn.init.constant_.
Init constant(double value);

}  // namespace init

/// Gives a module its parameters. A constructor requests each parameter by its name and shape, with
/// the Init for a new parameter:
///
///     weight = from("weight", {out, in}, init::linear_uniform(in));
///
/// This call also checks the shape. Names are those of `visit`. A part receives `from["out_proj"]`,
/// which prefixes all names with "out_proj.".
///
/// A source made from a generator calls the Init. A source of existing tensors returns these
/// tensors, so a model that is loaded draws no random numbers and takes no memory for initial
/// values. A module whose constructor takes no ParameterSource is loaded by load_state_dict.
/// **Errors**: those of operator(), which the constructors of modules pass on.
/// **Source**: candle's VarBuilder.
class ParameterSource {
 public:
  /// New parameters, drawn from `rng` in the order of the requests. `rng` must outlive the source.
  ParameterSource(Rng& rng);  // implicit: a generator is a source
  /// The parameters of a state. The module shares those that are contiguous and float32, and gets
  /// copies of the others. Names that no module requests are ignored; load_state_dict rejects them.
  /// **Errors**: a missing name, when a module requests it.
  explicit ParameterSource(StateDict state);
  /// The parameters that `find` returns for their full names. `find` may throw anything; the dtype
  /// and the shape of its results are checked.
  /// **Errors**: an empty function (std::bad_function_call), at the first request.
  explicit ParameterSource(
      std::function<Tensor(const std::string& name, const Shape& shape, const Init& init)> find);

  /// The parameter `name` of the module, which must name it in `visit`: an op that a tape records
  /// rejects a parameter that no call of `visit` has named, unless it is from a `find`.
  /// **Errors**: the errors of the source; not a floating tensor; a different shape.
  Tensor operator()(std::string_view name, const Shape& shape, const Init& init) const;

  /// The same source for the part with this name.
  ParameterSource operator[](std::string_view part) const;

 private:
  using Find = std::function<Tensor(const std::string&, const Shape&, const Init&)>;

  std::shared_ptr<const Find> find_;
  std::string module_;  // prefix of all names: "encoder.layers.0"
};

}  // namespace tessera::nn
