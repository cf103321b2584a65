#include "nn/training/parameters.h"

namespace tessera::nn {

std::vector<ParameterGroup> split_weight_decay(const Parameters& parameters) {
  ParameterGroup matrices;
  ParameterGroup others{.parameters = {}, .weight_decay = 0};
  for (const Parameter& parameter : parameters) {
    (parameter.tensor.rank() >= 2 ? matrices : others).parameters.push_back(parameter);
  }
  return {matrices, others};
}

}  // namespace tessera::nn
