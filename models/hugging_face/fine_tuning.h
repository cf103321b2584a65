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

#include "tessera/nn/module.h"
#include "tessera/nn/training/parameters.h"
#include "tessera/tensor/error.h"

namespace tessera::models {

/// The options of fine-tuning.
struct FineTuningOptions {
  double lr = 1e-4;                    // the learning rate of the highest layer
  std::optional<double> head_lr = {};  // of the head, which reads the encoder's output; absent: lr
  double layer_decay = 1;              // a layer's rate divided by that of the next higher layer
  double weight_decay = 0.01;          // of matrices; biases and norms have none
  bool freeze_embeddings = false;      // embeddings do not learn
  /// The number of layers, from the lowest on, that do not learn. If it is above 0, the embeddings
  /// do not learn either.
  index_t frozen_layers = 0;
};

namespace detail {

/// The learning rate of each parameter, by its level: 0 for the embeddings and position parameters,
/// i + 1 for layer i, the number of layers for the norm after them, and one more for the head.
class LevelRates {
 public:
  /// `names` are those of all parameters.
  LevelRates(const std::vector<std::string>& names, const FineTuningOptions& options);

  index_t level_of(const std::string& name) const;
  double rate_of(index_t level) const;
  bool trains(const std::string& name) const { return rate_of(level_of(name)) > 0; }
  /// The parameters in groups from the highest level to the lowest.
  std::vector<nn::ParameterGroup> groups(const nn::Parameters& parameters) const;

 private:
  FineTuningOptions options_;
  index_t layers_ = 0;
};

}  // namespace detail

/// Makes the parameters with a rate above 0 variables, and no others. Returns these variables in
/// groups for an optimiser, from the head to the embeddings, at most two per level: matrices, and
/// parameters without weight decay. With L layers, the rates are
///
///     head: head_lr    layer i: lr layer_decay^(L - 1 - i)    embeddings: lr layer_decay^L
///
/// and 0 for parts that freeze_embeddings or frozen_layers excludes. Parameters with rate 0 get no
/// gradients: if the lowest layers are frozen, backward ends above these layers.
///
/// The parameters of the model's encoder must have the same names as in a TokenEncoder.
/// **Errors**: an lr, head_lr or layer_decay that is negative or not finite; frozen_layers below 0
/// or above L; no parameter learns; a parameter that learns is prepacked by nn::prepack().
/// **Source**: Howard and Ruder, "Universal language model fine-tuning", 2018, section 3.2; Clark
/// et al., "ELECTRA", 2020, appendix B, for the decay by layer.
template <nn::Module M>
std::vector<nn::ParameterGroup> fine_tuning_groups(M& model, const FineTuningOptions& options) {
  std::vector<std::string> names;
  const auto add_name = [&](const std::string& name, const auto&) { names.push_back(name); };
  nn::for_each_parameter(model, add_name, add_name);
  const detail::LevelRates rates(names, options);
  nn::for_each_parameter(
      model,
      [&](const std::string& name, Tensor& parameter) {
        parameter.set_requires_grad(rates.trains(name));
      },
      [&](const std::string& name, const Weight&) {
        require(!rates.trains(name), "fine_tuning_groups", name,
                " must not be prepacked if it is trained; call nn::unpack(model) first");
      });
  return rates.groups(nn::parameters(model));
}

}  // namespace tessera::models
