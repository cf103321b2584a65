// Which part of a model made a number: what changes without a head, or with a step of another text.
#pragma once

#include <string>

#include "models/inspect/record.h"

namespace tessera::inspect {

/// How much the score falls without each head: score - score with the head's columns of
/// `self_attn.heads` at 0.
///
/// To measure a set of texts, let `score` be minus their mean loss.
/// **Shapes**: (layers, heads). **Errors**: as count_heads.
/// **Source**: Michel et al., "Are Sixteen Heads Really Better than One?", 2019, section 3.
Tensor head_ablation(const Score& score);

/// The same to first order, by one backward pass: `sum of h * d score / d h` over the columns h of
/// each head. A head that is scaled by m has d score / d m of this size at m = 1.
///
/// **Shapes**: (layers, heads). **Errors**: as count_heads; a score that does not depend on a head.
/// **Source**: Michel et al., 2019, section 4.1, which takes the mean of absolute values over texts.
Tensor head_gradients(const Score& score);

/// The score of one text with a step, at one token, as another text has it.
struct Patching {
  Tensor scores;    // (layers, T): `to` with layer l's step at token t from `from`
  double from = 0;  // the scores without patches
  double to = 0;
};

/// Runs `to` once for each layer and token. Where the map reaches `from`, the step carries what makes
/// the difference between the two texts.
///
/// `part` chooses the step: "layers.N" + part, such as ".self_attn" or ".linear2"; "" is the layer's output.
/// **Errors**: texts that differ in their numbers of tokens; more than one text; no such step.
/// **Source**: Vig et al., "Investigating Gender Bias in Language Models Using Causal Mediation
/// Analysis", 2020; Meng et al., "Locating and Editing Factual Associations in GPT", 2022.
Patching activation_patching(const Score& from, const Score& to, const std::string& part = "");

}  // namespace tessera::inspect
