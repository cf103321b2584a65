// Selects which parameters of a pretrained model learn, and with which learning rates.
//
//   nn::AdamW optimizer(models::fine_tuning_groups(model, {.lr = 1e-4, .layer_decay = 0.9}));
//   nn::Trainer trainer(model, optimizer, examples);
//
// Layers near the input compute more general features, and should change less. So the learning rate
// of a layer is a fixed fraction of the rate of the next higher layer. A new head may learn faster
// than all layers.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "nn/module.h"
#include "nn/training/parameters.h"
#include "tensor/error.h"

namespace tessera::models {

/// The options of fine-tuning.
struct FineTuningOptions {
  double lr = 1e-4;                    // the learning rate of the highest layer
  std::optional<double> head_lr = {};  // of the head, which reads the encoder's output; absent: lr
  double layer_decay = 1;              // a layer's rate divided by that of the next higher layer
  double weight_decay = 0.01;          // of matrices; biases and norms have none
  bool fixed_embeddings = false;       // embeddings do not learn
  /// The number of layers, from the lowest on, that do not learn. If it is above 0, the embeddings
  /// do not learn either.
  index_t fixed_layers = 0;
};

/// The level of a parameter of a model with a TokenEncoder: 0 for the embeddings and position
/// parameters, i + 1 for layer i, `layers` for the norm after the layers, and layers + 1 for the
/// head.
index_t level_of(const std::string& name, index_t layers);

/// The number of layers, from the names of parameters.
index_t layer_count(const std::vector<std::string>& names);

/// The learning rate of a level:
///
///         rate(level) = lr layer_decay^(layers - level),    up to level `layers`
///         rate(layers + 1) = head_lr
///
/// The rate is 0 if fixed_embeddings or fixed_layers excludes the level from learning.
/// **Errors**: an lr, head_lr or layer_decay that is negative or not finite; fixed_layers below 0
/// or above `layers`.
/// **Source**: as fine_tuning_groups.
double rate_of(index_t level, index_t layers, const FineTuningOptions& options);

/// The parameters in groups from the highest level to the lowest, at most two per level: the
/// matrices, and the parameters without weight decay.
/// **Errors**: as rate_of; no parameter; fewer `layers` than the parameters have.
std::vector<nn::ParameterGroup> groups_by_level(const nn::Parameters& parameters, index_t layers,
                                                const FineTuningOptions& options);

/// Makes the parameters with a rate above 0 variables, and no others. Returns these variables in
/// groups for an optimiser. Other parameters get no gradients: if the lowest layers are fixed,
/// backward ends above these layers.
///
/// The parameters of the model's encoder must have the same names as in a TokenEncoder.
/// **Errors**: as rate_of; no parameter learns; a parameter that learns is prepacked by
/// nn::prepack().
/// **Source**: Howard and Ruder, "Universal language model fine-tuning", 2018, section 3.2; Clark
/// et al., "ELECTRA", 2020, appendix B, for the decay by layer.
template <nn::Module M>
std::vector<nn::ParameterGroup> fine_tuning_groups(M& model, const FineTuningOptions& options) {
  std::vector<std::string> names;
  const auto add_name = [&](const std::string& name, const auto&) { names.push_back(name); };
  nn::for_each_parameter(model, add_name, add_name);
  const index_t layers = layer_count(names);
  const auto is_trained = [&](const std::string& name) {
    return rate_of(level_of(name, layers), layers, options) > 0;
  };
  nn::for_each_parameter(
      model,
      [&](const std::string& name, Tensor& parameter) {
        parameter.set_requires_grad(is_trained(name));
      },
      [&](const std::string& name, const Weight&) {
        require(!is_trained(name), "fine_tuning_groups", name,
                " must not be prepacked if it is trained; call nn::unpack(model) first");
      });
  return groups_by_level(nn::parameters(model), layers, options);
}

}  // namespace tessera::models
