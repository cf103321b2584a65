// A module that calls its parts in order.
#pragma once

#include <initializer_list>
#include <string>
#include <vector>

#include "tessera/nn/any_module.h"
#include "tessera/tensor/tensor.h"

namespace tessera::nn {

/// `part_n(... part_1(x))`, for parts that map one tensor to one tensor: modules, functions, and
/// lambdas without captures.
///
///     nn::Sequential classify = {nn::Linear(784, 64), tessera::relu, nn::Linear(64, 10)};
///
/// **Shapes**: those of the parts. **Parameters** have the names 0.weight, 0.bias, 2.weight, ...
/// **Errors**: those of the parts.
/// **Source**: torch.nn.Sequential.
struct Sequential {
  using Part = AnyModule<Tensor(const Tensor&)>;

  std::vector<Part> parts;

  /// The parts in order; a Sequential in braces is copied.
  Sequential(std::initializer_list<Part> row) : parts(row) {
    const Sequential* const only = row.size() == 1 ? parts[0].get<Sequential>() : nullptr;
    if (only != nullptr) parts = std::vector<Part>(only->parts);
  }

  Tensor operator()(const Tensor& x) const {
    Tensor y = x;
    for (const Part& part : parts) y = part(y);
    return y;
  }

  static void visit(auto& self, auto&& visitor) {
    for (std::size_t i = 0; i < self.parts.size(); ++i) visitor(std::to_string(i), self.parts[i]);
  }
};

}  // namespace tessera::nn
