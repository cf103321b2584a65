// Which part of a model made a score: its change without a head, or with a vector of another text.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "models/inspect/record.h"

namespace tessera::inspect {

/// Which layers and heads are measured; an absent list means all.
struct HeadChoice {
  std::optional<std::vector<index_t>> layers = {};
  std::optional<std::vector<index_t>> heads = {};
};

/// How much the score falls without each head that is chosen: score - score with the head's columns of
/// `self_attn.heads` at 0.
///
/// For a set of texts, `score` can be minus their mean loss, in any number of batches.
/// **Shapes**: (chosen layers, chosen heads). **Errors**: as count_heads; a number that the model does not
/// have.
/// **Source**: Michel et al., "Are Sixteen Heads Really Better than One?", 2019, section 3.
Tensor head_ablation(const Score& score, const HeadChoice& chosen = {});

/// The same to first order, by one backward pass: `sum of h * d score / d h` over the columns h of
/// each head. It equals d score / d m at m = 1 if the head is scaled by m.
///
/// Adds to gradients as saliency.
/// **Shapes**: (layers, heads). **Errors**: as count_heads; a score that does not depend on a head.
/// **Source**: Michel et al., 2019, section 4.1, which takes the mean of absolute values over texts.
Tensor head_gradients(const Score& score);

/// Scores after one token's vector is replaced by that of another text.
struct Patching {
  Tensor scores;    // (layers, T): `to` with the vector of layer l at token t from `from`
  double from = 0;  // the scores without replacement
  double to = 0;
};

/// Runs `to` once for each layer and token. A score near `from` means that this vector holds the
/// difference between the texts.
///
/// `part` chooses the step "layers.N" + part: ".self_attn", ".feed_forward"; "" is the layer's output.
/// **Errors**: different numbers of tokens; more than one text; no such step; a part that does not
/// begin with a dot.
/// **Source**: Vig et al., "Investigating Gender Bias in Language Models Using Causal Mediation
/// Analysis", 2020; Meng et al., "Locating and Editing Factual Associations in GPT", 2022.
Patching activation_patching(const Score& from, const Score& to, const std::string& part = "");

}  // namespace tessera::inspect
