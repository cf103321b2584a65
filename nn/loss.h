// Losses: how far predictions are from what they should be.
//
//   Tape tape;
//   Tensor loss = nn::cross_entropy(model(ids), labels);   // (B, T, C) and (B, T)
//   tape.backward(loss);
//
// They are ops, in tensor/ops/loss.h; losses of vectors are in embedding_loss.h.
#pragma once

#include "tensor/ops/loss.h"

namespace tessera::nn {

using tessera::bce_with_logits;
using tessera::BceOptions;
using tessera::cross_entropy;
using tessera::CrossEntropyOptions;
using tessera::kl_div;
using tessera::KlDivOptions;
using tessera::KlReduction;
using tessera::mse_loss;
using tessera::nll_loss;
using tessera::NllOptions;
using tessera::Reduction;
using tessera::smooth_l1_loss;
using tessera::SmoothL1Options;

}  // namespace tessera::nn
