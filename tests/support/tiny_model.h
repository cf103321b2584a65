// The options of models that are small enough for central differences, and models made of them.
#pragma once

#include "tessera/models/token_encoder.h"
#include "tessera/nn/module.h"
#include "tessera/tensor/random.h"

namespace tessera::test {

inline models::TokenEncoderOptions tiny_tokens(
    models::Positions positions = models::Positions::kLearned, bool embedding_norm = false,
    index_t layers = 2) {
  return {.vocab_size = 11,
          .encoder = {.layers = models::repeat_layer({.d_model = 6,
                                                      .nhead = 2,
                                                      .dim_feedforward = 7,
                                                      .activation = nn::Activation::kGelu,
                                                      .norm_first = true},
                                                     layers),
                      .final_norm = true,
                      .d_model = 6},
          .positions = positions,
          .max_positions = 9,
          .embedding_norm = embedding_norm};
}

/// A model in evaluation mode, the same at each call.
template <class Model, class Options>
Model make_model(const Options& options) {
  Rng rng(3);
  Model model(options, rng);
  nn::eval(model);
  return model;
}

}  // namespace tessera::test
