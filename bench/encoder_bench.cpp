// Encoders: inference, and a whole step of training.
#include <array>
#include <functional>
#include <memory>
#include <vector>

#include "bench/case.h"
#include "bench/registry.h"
#include "tessera/models/encoder.h"
#include "tessera/nn/module.h"
#include "tessera/nn/training/optim.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/reduce.h"
#include "tessera/tensor/ops/unary.h"
#include "tessera/tensor/random.h"

namespace tessera::bench {

namespace {

struct EncoderSize {
  index_t layers, d_model, heads, feedforward;
};

/// The width of a gated network with about as many multiplications as a plain one: 2/3 of that
/// width, rounded to a multiple of 16.
index_t gated_width(index_t plain) {
  return (2 * plain + 24) / 48 * 16;
}

models::EncoderOptions options_of(const EncoderSize& size, double dropout = 0) {
  return {
      .layers = models::repeat_layer({.d_model = size.d_model,
                                      .nhead = size.heads,
                                      .dim_feedforward = size.feedforward,
                                      .dropout = dropout,
                                      .activation = nn::Activation::kGelu},
                                     size.layers),
  };
}

/// Layers with rotary positions, RMS norms and a gated feed-forward network.
models::EncoderOptions modern_options_of(const EncoderSize& size) {
  models::EncoderOptions options = options_of(size);
  for (models::EncoderLayerOptions& layer : options.layers) {
    layer.norm_first = true;
    layer.bias = false;
    layer.norm = nn::NormKind::kRMSNorm;
    layer.rotary = nn::RotaryOptions{};
    layer.gated = true;
  }
  options.final_norm = true;
  return options;
}

/// The error of y for some sequences of a batch. The definition is the same model in double, on x.
double encoder_error(const models::Encoder& encoder, const Tensor& x, const Tensor& y) {
  models::Encoder exact = encoder;
  nn::convert(exact, kFloat64);
  return error_of(y, exact(x.to(kFloat64)), 1e-4);
}

Case encoder_case(const models::EncoderOptions& options, index_t batch, index_t tokens) {
  models::Encoder encoder(options);
  nn::eval(encoder);
  const Tensor x = randn({batch, tokens, options.width()});
  return {
      [=] { return encoder(x); },
      [=](const Tensor& y) { return encoder_error(encoder, x.slice(0, 0, 1), y.slice(0, 0, 1)); }};
}

/// Every second sequence has `tokens` tokens, the others `few`, in one padded batch.
Case mixed_case(const EncoderSize& size, index_t batch, index_t few, index_t tokens) {
  models::Encoder encoder(options_of(size));
  nn::eval(encoder);
  const Tensor x = randn({batch, tokens, size.d_model});
  std::vector<index_t> lengths;
  for (index_t b = 0; b < batch; ++b) lengths.push_back(b % 2 == 0 ? tokens : few);
  const AttentionMask mask = length_mask(lengths);
  const auto second = [=](const Tensor& all) { return all.slice(0, 1, 2).slice(1, 0, few); };
  return {[=] { return encoder(x, mask); },
          [=](const Tensor& y) { return encoder_error(encoder, second(x), second(y)); }};
}

/// The gradient of the first layer's projections, which depends on all other layers.
Tensor gradient(const models::Encoder& encoder, const Tensor& x) {
  Tape tape;
  tape.backward(mean(square(encoder(x))));
  return encoder.layers.front().self_attn->in_proj_weight->grad();
}

/// Sets gradients to zero, then forward, the mean of squares, backward, and a step of AdamW.
Case train_case(const EncoderSize& size, index_t batch, index_t tokens, double dropout) {
  auto encoder = std::make_shared<models::Encoder>(options_of(size, dropout));
  // With weights of 1 the mean of squares of a normalised row is always 1, so its gradient would
  // consist of rounding errors.
  encoder->layers.back().norm2.weight = uniform(0.5, 1.5, {size.d_model});
  models::Encoder exact = *encoder;
  nn::convert(exact, kFloat64);
  nn::set_requires_grad(exact);
  nn::set_requires_grad(*encoder);
  const auto optimizer = std::make_shared<nn::AdamW>(nn::parameters(*encoder));
  const Tensor x = randn({batch, tokens, size.d_model});
  const Rng::State start = default_rng().state();
  return {
      [=] {
        optimizer->zero_grad();
        const Tensor dw = gradient(*encoder, x);
        optimizer->step();
        return dw;
      },
      // The first step's gradient, from the initial weights and the same dropout.
      [=](const Tensor& dw) {
        default_rng().set_state(start);
        const Tensor expected = gradient(exact, x.to(kFloat64));
        return error_of(dw, expected, 1e-4 * max(abs(expected)).item());
      },
  };
}

double encoder_flops(const EncoderSize& s, index_t batch, index_t tokens) {
  const auto d = static_cast<double>(s.d_model);
  const auto f = static_cast<double>(s.feedforward);
  const auto t = static_cast<double>(tokens);
  return static_cast<double>(s.layers) * static_cast<double>(batch) * t *
         (8 * d * d + 4 * d * f + 4 * t * d);
}

/// The weights of the products; the other parameters are few.
double encoder_weights(const EncoderSize& s) {
  const auto d = static_cast<double>(s.d_model);
  return static_cast<double>(s.layers) * (4 * d * d + 2 * d * static_cast<double>(s.feedforward));
}

/// Weights are read; rows are read and written.
Cost inference_cost(const EncoderSize& s, index_t batch, index_t tokens) {
  const double rows = static_cast<double>(batch * tokens) * static_cast<double>(s.d_model);
  return {.flops = encoder_flops(s, batch, tokens),
          .bytes = bytes_of(encoder_weights(s) + 2 * rows)};
}

EncoderSize size_of(Parameters& p) {
  const EncoderSize s = {p.size("L"), p.size("D"), p.size("H"), p.size("F")};
  require(s.d_model % s.heads == 0, "tessera_bench", "'", p.name(),
          "': H must divide D = ", s.d_model, ", got ", s.heads);
  return s;
}

/// F of a modern encoder is the width of its gated networks, which cost as much as plain ones of
/// width 3/2 F.
Work inference_work(Parameters& p, bool is_modern) {
  const EncoderSize s = size_of(p);
  const index_t batch = p.size("B", 1);
  const index_t tokens = p.size("T");
  EncoderSize plain = s;
  if (is_modern) plain.feedforward = s.feedforward * 3 / 2;
  return {inference_cost(plain, batch, tokens), [=] {
            return encoder_case(is_modern ? modern_options_of(s) : options_of(s), batch, tokens);
          }};
}

Work mixed_work(Parameters& p) {
  const EncoderSize s = size_of(p);
  const index_t batch = p.size("B", {}, 2);
  const std::vector<index_t> tokens = p.sizes("T", 2);
  require(tokens[0] <= tokens[1], "tessera_bench", "'", p.name(),
          "': T must begin with the shorter length, got ", tokens[0], ',', tokens[1]);
  const index_t longer = (batch + 1) / 2;
  const double rows = static_cast<double>((batch - longer) * tokens[0] + longer * tokens[1]) *
                      static_cast<double>(s.d_model);
  const Cost cost = {
      .flops = encoder_flops(s, batch - longer, tokens[0]) + encoder_flops(s, longer, tokens[1]),
      .bytes = bytes_of(encoder_weights(s) + 2 * rows)};
  return {cost, [=] { return mixed_case(s, batch, tokens[0], tokens[1]); }};
}

/// A backward has two products for each of the forward's. A step reads and writes the weights and
/// both moments, and writes and reads the gradients.
Work train_work(Parameters& p, double dropout) {
  const EncoderSize s = size_of(p);
  const index_t batch = p.size("B", 1);
  const index_t tokens = p.size("T");
  dropout = p.fraction("dropout", dropout);
  const double rows = static_cast<double>(batch * tokens) * static_cast<double>(s.d_model);
  const Cost cost = {.flops = 3 * encoder_flops(s, batch, tokens),
                     .bytes = bytes_of(8 * encoder_weights(s) + 2 * rows)};
  return {cost, [=] { return train_case(s, batch, tokens, dropout); }};
}

/// A kind for the measured sizes of encoders; `gated` if F is a gated network's.
Kind encoder_kind(const std::string& name, const std::string& what, const std::string& more,
                  bool gated, std::function<Work(Parameters&)> work) {
  constexpr std::array<EncoderSize, 4> kSizes = {
      {{2, 128, 2, 512}, {4, 256, 4, 1024}, {6, 384, 12, 1536}, {12, 768, 12, 3072}}};
  constexpr std::array<std::array<index_t, 2>, 3> kBatches = {{{1, 128}, {8, 128}, {1, 512}}};
  Kind kind = {.name = name,
               .pattern = name + "/L:/D:/H:/F:[/B:]/T:" + more,
               .what = what,
               .work = std::move(work)};
  for (const EncoderSize& s : kSizes) {
    for (const auto& [batch, tokens] : kBatches) {
      kind.names.push_back(str_cat(name, "/L:", s.layers, "/D:", s.d_model, "/H:", s.heads,
                                   "/F:", gated ? gated_width(s.feedforward) : s.feedforward,
                                   "/B:", batch, "/T:", tokens));
    }
  }
  return kind;
}

}  // namespace

void register_encoder() {
  register_kind({.name = "encoder_mixed",
                 .pattern = "encoder_mixed/L:/D:/H:/F:/B:/T:short,long",
                 .what = "a padded batch whose sequences have two lengths in turn",
                 .names = {"encoder_mixed/L:6/D:384/H:12/F:1536/B:32/T:10,256"},
                 .work = mixed_work});
  register_kind(encoder_kind("encoder", "inference of L post-norm layers", "", false,
                             [](Parameters& p) { return inference_work(p, false); }));
  register_kind(encoder_kind("modern",
                             "the same with rotary positions, RMS norm and gated layers, in about "
                             "as many operations",
                             "", true, [](Parameters& p) { return inference_work(p, true); }));
  register_kind(encoder_kind("train", "forward, backward and a step of AdamW", "[/dropout:]", false,
                             [](Parameters& p) { return train_work(p, 0); }));
  register_kind(encoder_kind("dropout", "the same with dropout 0.1", "[/dropout:]", false,
                             [](Parameters& p) { return train_work(p, 0.1); }));
}

}  // namespace tessera::bench
