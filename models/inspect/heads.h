// The contribution of a model's parts to a score: the change of the score without a head, or with a
// vector of a different text.
//
//   const inspect::Score score = [&] { return model(tokens).select(0, 0).select(0, 2); };
//   const Tensor drops = inspect::head_ablation(score);                   // (layers, heads)
//
// record.h defines Score. **Errors**: also the exceptions of the score.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "tessera/models/inspect/record.h"

namespace tessera::inspect {

/// The layers and heads to measure; an absent list means all.
struct HeadChoice {
  std::optional<std::vector<index_t>> layers = {};
  std::optional<std::vector<index_t>> heads = {};
};

/// The drop of the score without each chosen head: the score, minus the score with 0 in the head's
/// columns of the hook point `self_attn.heads`.
///
/// For a set of texts, `score` can be minus their mean loss, in any number of batches.
/// **Shapes**: (chosen layers, chosen heads). **Errors**: as count_heads; a layer or head that the
/// model does not have; a score with several elements.
/// **Source**: Michel et al., "Are Sixteen Heads Really Better than One?", 2019, section 3.
Tensor head_ablation(const Score& score, const HeadChoice& chosen = {});

/// A first-order estimate of head_ablation for all heads, by one backward pass: the sum of h * g
/// over the head's output h, where g is the gradient of the score at h. If a factor m multiplies h,
/// this is the derivative of the score by m at m = 1. For heads on which the score does not depend,
/// it is 0.
///
/// Like input_x_gradient, the function adds to the gradients of parameters that require gradients.
/// **Shapes**: (layers, heads). **Errors**: as count_heads; a score that has no gradient at all, or
/// several elements; prepacked weights.
/// **Source**: Michel et al., 2019, section 4.1, which takes the mean of absolute values over
/// texts.
Tensor head_gradients(const Score& score);

/// Scores of a text `to` after one of its vectors is replaced by that of a text `from`.
struct Patching {
  Tensor scores;    // (layers, T): the score of `to` with the vector of `from` at layer l, token t
  double from = 0;  // the score of `from`
  double to = 0;    // the score of `to` without replacement
};

/// Runs `to` once without replacement, then once for each layer and token. A score near
/// Patching::from means that the replaced vector holds the difference between the texts.
///
/// `part` chooses the hook point "layers.N" + part, such as ".self_attn" or ".feed_forward"; "" is
/// the layer's output.
/// **Errors**: different numbers of tokens; more than one text; no such hook point, a hook point
/// that is computed more than once, or a hook point whose shape is not (1, T, D); a part that does
/// not begin with a dot; a score with several elements.
/// **Source**: Vig et al., "Investigating Gender Bias in Language Models Using Causal Mediation
/// Analysis", 2020; Meng et al., "Locating and Editing Factual Associations in GPT", 2022.
Patching activation_patching(const Score& from, const Score& to, const std::string& part = "");

}  // namespace tessera::inspect
