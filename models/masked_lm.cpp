#include "models/masked_lm.h"

#include "tensor/create.h"
#include "tensor/ops/indexing.h"

namespace tessera::models {

MaskedLm::MaskedLm(const MaskedLmOptions& options, Rng& rng)
    : encode(options.tokens, rng),
      transform{
          .dense = nn::Linear(options.tokens.encoder.width(), options.tokens.encoder.width(), rng),
          .norm = make_norm(options.tokens.encoder),
      },
      bias(zeros({options.tokens.vocabulary_size})) {}

Tensor MaskedLm::operator()(const Tokens& tokens, const Tensor& places) const {
  Tensor x = encode(tokens);
  if (places.defined()) x = index_select(x.flatten(0, 1), 0, places);
  const Tensor h = transform.norm(transform.dense(x, nn::Activation::kGelu));
  return linear(h, encode.embeddings.word.weight, bias, {.packed = &packed_decoder});
}

}  // namespace tessera::models
