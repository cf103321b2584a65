// Attention and encoder inference.
#include <array>
#include <cmath>
#include <vector>

#include "bench/case.h"
#include "models/encoder.h"
#include "nn/module.h"
#include "tensor/error.h"
#include "tensor/ops/attention.h"
#include "tensor/random.h"

namespace tessera::bench {

namespace {

/// Element (query, column) of one head's attention, in double.
double attend_in_double(const Tensor& q, const Tensor& k, const Tensor& v, index_t query,
                        index_t column) {
  const index_t keys = k.size(0);
  const index_t width = q.size(1);
  const auto at = [](const Tensor& x, index_t i, index_t j) {
    return static_cast<double>(x.data<float>()[i * x.strides()[0] + j * x.strides()[1]]);
  };
  double sum = 0;
  double weighted = 0;
  for (index_t j = 0; j < keys; ++j) {
    double score = 0;
    for (index_t p = 0; p < width; ++p) score += at(q, query, p) * at(k, j, p);
    const double weight = std::exp(score / std::sqrt(static_cast<double>(width)));
    sum += weight;
    weighted += weight * at(v, j, column);
  }
  return weighted / sum;
}

Case attention_case(index_t batch, index_t heads, index_t tokens, index_t width) {
  const auto make = [=] {
    return uniform({batch, tokens, heads * width}, -1, 1)
        .unflatten(2, {heads, width})
        .transpose(1, 2);
  };
  const Tensor q = make();
  const Tensor k = make();
  const Tensor v = make();
  return {
      [=] { return attention(q, k, v).output; },
      [=](const Tensor& out) {
        const auto expected = [&](index_t e) {
          const index_t head = e / (tokens * width);
          const auto of_head = [&](const Tensor& x) {
            return x.select(0, head / heads).select(0, head % heads);
          };
          return attend_in_double(of_head(q), of_head(k), of_head(v), e / width % tokens,
                                  e % width);
        };
        return sampled_error(out, 50, expected, 1e-5);
      },
  };
}

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

void register_attention() {
  constexpr std::array<std::array<index_t, 4>, 8> kSizes = {{{1, 2, 128, 64},
                                                             {1, 12, 128, 32},
                                                             {1, 12, 128, 64},
                                                             {8, 12, 128, 64},
                                                             {1, 12, 512, 64},
                                                             {8, 12, 512, 64},
                                                             {1, 12, 2048, 64},
                                                             {1, 12, 4096, 64}}};
  for (const auto& [b, h, t, d] : kSizes) {
    register_case(format("attention/B:", b, "/H:", h, "/T:", t, "/d:", d),
                  {.flops = 4.0 * static_cast<double>(b * h * t * t * d)},
                  [=, b = b, h = h, t = t, d = d] { return attention_case(b, h, t, d); });
  }
}

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
