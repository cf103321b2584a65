#include "tessera/nn/training/parameters.h"

#include <set>
#include <string>

#include "tessera/tensor/error.h"
#include "tessera/tensor/gradient.h"

namespace tessera::nn {

Parameters detail::parameters(const Parts& parts) {
  Parameters result;
  std::set<const GradSlot*> known;
  std::set<std::string> names;
  const auto add = [&](const std::string& name, const Tensor& tensor) {
    require(names.insert(name).second, "parameters", kUniqueNameRule, name, " twice");
    if (!tensor.requires_grad() || !known.insert(tensor.grad_slot().get()).second) return;
    result.push_back({name, tensor});
  };
  parts.for_each(add, kSkipPrepacked);
  return result;
}

std::vector<ParameterGroup> split_weight_decay(const Parameters& parameters) {
  ParameterGroup matrices;
  ParameterGroup others{.parameters = {}, .weight_decay = 0};
  for (const Parameter& parameter : parameters) {
    (parameter.tensor.rank() >= 2 ? matrices : others).parameters.push_back(parameter);
  }
  return {matrices, others};
}

}  // namespace tessera::nn
