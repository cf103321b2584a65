// Where the parameters of a module come from, and what new ones start as.
//
//   nn::Linear drawn(4, 8);                             // from the thread's random numbers
//   nn::Linear also(4, 8, rng);                         // from a generator of yours
//   nn::Linear read(4, 8, nn::Source(load_safetensors("linear.safetensors").tensors));
#pragma once

#include <functional>
#include <memory>
#include <string>
#include <string_view>

#include "nn/state_dict.h"
#include "tensor/random.h"
#include "tensor/tensor.h"

namespace tessera::nn {

/// What a new parameter starts as: a tensor of this shape, drawn from the generator if it is random.
using Start = std::function<Tensor(const Shape& shape, Rng& rng)>;

/// U(-1/sqrt(fan_in), 1/sqrt(fan_in)): PyTorch's start for the weight and bias of a linear layer
/// (kaiming_uniform with a = sqrt(5)).
/// **Source**: torch.nn.Linear.reset_parameters.
Start linear_uniform(index_t fan_in);

/// U(-b, b) with b = sqrt(6 / (fan_in + fan_out)), for a weight of shape (fan_out, fan_in); a Start
/// itself.
/// **Source**: Glorot and Bengio, 2010, eq. 16; torch.nn.init.xavier_uniform_.
Tensor xavier_uniform(const Shape& shape, Rng& rng);

/// N(0, std^2). **Errors**: a std that is negative or not finite.
Start normal(double std);

/// `value` everywhere, and nothing is drawn.
Start constant(double value);

/// Gives a module its parameters. A constructor asks for each one by its name and shape, and says
/// what a new one starts as:
///
///     weight = from("weight", {out, in}, linear_uniform(in));
///
/// The request is the check of the shape. Names are those of `visit`: a part is given
/// `from["out_proj"]`, which puts "out_proj." in front of the names that it asks for.
///
/// Only a source of random numbers looks at the start. Others return the tensors that they have, not
/// copies, so that a model which is read takes no memory for random numbers first. A module that
/// takes no Source is loaded by load_state_dict.
/// **Source**: candle's VarBuilder.
class Source {
 public:
  /// Returns the parameter with this full name. **Errors**: as its writer likes; Source checks the
  /// shape of what is returned.
  using Find =
      std::function<Tensor(const std::string& name, const Shape& shape, const Start& start)>;

  /// New parameters, drawn from `rng` in the order of the requests, while `rng` lives.
  Source(Rng& rng);  // implicit: a generator is a source
  /// The parameters of a state, which the module shares where they are contiguous and float32. Names
  /// that nobody asks for are no error: load_state_dict refuses them. **Errors**: a missing name.
  explicit Source(StateDict state);
  explicit Source(Find find);

  /// The parameter `name` of the module. **Errors**: as the source's; a different shape.
  Tensor operator()(std::string_view name, const Shape& shape, const Start& start) const;

  /// The same source for the part with this name.
  Source operator[](std::string_view part) const;

 private:
  std::shared_ptr<const Find> find_;
  std::string module_;  // the name of the module that asks, "encoder.layers.0"
};

}  // namespace tessera::nn
