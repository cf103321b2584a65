// Maps our names of parameters to a family's by its table, and our tensors to its tensors and back.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/hugging_face/detail/family.h"

namespace tessera::models {

/// The tensors of a checkpoint that form one of our parameters, in the order of its rows. Halves
/// are exchanged after the tensors are joined.
struct TensorNames {
  std::vector<std::string> names;
  Halves halves = Halves::kKept;
};

/// The tensors of our parameter `name` by `line`; nullopt if the line is for other parameters.
std::optional<TensorNames> tensor_names(const WeightName& line, const std::string& name,
                                        index_t group_size);

/// Our parameter, joined from the tensors `parts`, in the order of their names.
Tensor joined(const TensorNames& tensors, const std::vector<Tensor>& parts);

/// The inverse of joined: the tensors, which share the elements of our parameter. A parameter whose
/// halves are exchanged is copied.
std::vector<Tensor> cut(const TensorNames& tensors, const Tensor& parameter);

/// Our names in `line`, for `layers` layers.
std::vector<std::string> our_names(const WeightName& line, index_t layers);

/// The names that a tensor may have in a file, its own first: with the family's prefix, and with
/// TensorFlow's names of a norm's parameters, gamma and beta.
std::vector<std::string> spellings(const std::string& name, std::string_view prefix);

}  // namespace tessera::models
