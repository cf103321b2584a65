// What an optimiser or a schedule keeps between steps, in a form that a checkpoint (checkpoint.h)
// can store: tensors and numbers, both by name.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tensor/tensor.h"

namespace tessera::nn {

/// Names are unique within each list. The order is that of the parameters; whoever reads a state
/// looks names up, so a file may store them in any order.
struct SavedState {
  std::vector<std::pair<std::string, Tensor>> tensors;
  std::vector<std::pair<std::string, double>> numbers;  // counts are exact up to 2^53

  /// The tensor or number called `name`; null where there is none.
  const Tensor* find_tensor(const std::string& name) const;
  const double* find_number(const std::string& name) const;
};

/// Throws, naming `op`, unless `given` has exactly the names of `wanted`, each tensor with its
/// shape; the error lists what differs.
void check_saved_state(const char* op, const SavedState& wanted, const SavedState& given);

}  // namespace tessera::nn
