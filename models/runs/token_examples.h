// Rows of tokens with labels as examples for nn::Trainer.
#pragma once

#include <functional>

#include "models/tokens.h"
#include "nn/training/evaluate.h"

namespace tessera::runs {

/// The rows of `tokens`, each with its label or with one label per token, as examples of the rows'
/// lengths. `loss` gets the chosen rows and their labels, cut to the longest length among them.
///
///     runs::examples_of({ids, lengths}, classes, [&](const models::Tokens& x, const Tensor& y) {
///       return nn::summed_cross_entropy(model(x), y);
///     });
/// **Shapes**: tokens (N, T), labels (N) or (N, T). **Errors**: as models::check_tokens; labels of a
/// different shape.
nn::Examples examples_of(models::Tokens tokens, const Tensor& labels,
                         std::function<nn::LossSum(const models::Tokens&, const Tensor&)> loss);

}  // namespace tessera::runs
