// Rows of tokens with labels as examples for nn::Trainer.
#pragma once

#include <functional>

#include "tessera/models/tokens.h"
#include "tessera/nn/training/evaluate.h"

namespace tessera::runs {

/// Makes one example per row of `tokens`, with one label, or one label per token. The length of an
/// example is the length of its row. `loss` gets the chosen rows and labels, cut to the longest
/// chosen row.
///
///     runs::examples_of({ids, lengths}, classes, [&](const models::Tokens& x, const Tensor& y) {
///       return nn::summed_cross_entropy(model(x), y);
///     });
/// **Shapes**: tokens (N, T), labels (N) or (N, T). **Errors**: as models::check_tokens; labels of a
/// different shape.
nn::Examples examples_of(models::Tokens tokens, const Tensor& labels,
                         std::function<nn::LossSum(const models::Tokens&, const Tensor&)> loss);

}  // namespace tessera::runs
