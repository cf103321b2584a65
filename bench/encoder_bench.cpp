// Encoder inference.
#include <array>

#include "bench/case.h"
#include "models/encoder.h"
#include "nn/module.h"
#include "tensor/error.h"
#include "tensor/random.h"

namespace tessera::bench {

namespace {

struct Size {
  index_t layers, d_model, heads, feedforward;
};

Case encoder_case(const Size& size, index_t batch, index_t tokens) {
  const models::EncoderOptions options = {
      .layer = {.d_model = size.d_model,
                .nhead = size.heads,
                .dim_feedforward = size.feedforward,
                .activation = nn::Activation::kGelu},
      .num_layers = size.layers,
  };
  models::Encoder encoder(options);
  nn::eval(encoder);
  const Tensor x = randn({batch, tokens, size.d_model});
  return {
      [=] { return encoder(x); },
      // The definition is the same model in double on the first sequence; the others differ from it
      // by their place in the batch alone.
      [=](const Tensor& y) {
        models::Encoder exact = encoder;
        nn::convert(exact, kFloat64);
        const Tensor expected = exact(x.slice(0, 0, 1).to(kFloat64)).contiguous();
        const double* values = expected.data<double>();
        return sampled_error(
            y.slice(0, 0, 1), expected.count(), [&](index_t e) { return values[e]; }, 1e-4);
      },
  };
}

double encoder_flops(const Size& s, index_t batch, index_t tokens) {
  return static_cast<double>(s.layers * batch * tokens) *
         static_cast<double>(8 * s.d_model * s.d_model + 4 * s.d_model * s.feedforward +
                             4 * tokens * s.d_model);
}

}  // namespace

void register_encoder() {
  constexpr std::array<Size, 4> kSizes = {
      {{2, 128, 2, 512}, {4, 256, 4, 1024}, {6, 384, 12, 1536}, {12, 768, 12, 3072}}};
  constexpr std::array<std::array<index_t, 2>, 3> kBatches = {{{1, 128}, {8, 128}, {1, 512}}};
  for (const Size& s : kSizes) {
    for (const auto& [batch, tokens] : kBatches) {
      register_case(format("encoder/L:", s.layers, "/D:", s.d_model, "/H:", s.heads,
                           "/F:", s.feedforward, "/B:", batch, "/T:", tokens),
                    {.flops = encoder_flops(s, batch, tokens)},
                    [=, batch = batch, tokens = tokens] { return encoder_case(s, batch, tokens); });
    }
  }
}

}  // namespace tessera::bench
