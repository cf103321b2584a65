// Qwen3 as an encoder: Llama's layers, in which each token reads those before it; norms of queries
// and keys.
#include "tessera/models/hugging_face/detail/config.h"
#include "tessera/models/hugging_face/detail/family.h"

namespace tessera::models::families {

namespace qwen3 {
namespace {

/// Throws if a layer has a sliding window, which is unsupported.
void check_layers(const Json& config) {
  config::want_flag(config, "use_sliding_window", false);
  const auto types = config.find("layer_types");
  if (!types) return;
  for (const Json& type : types->items()) {
    if (type.text() != "full_attention") {
      type.fail("must be full_attention, got ", type.described());
    }
  }
}

TokenEncoderOptions options(const Json& config) {
  check_layers(config);
  EncoderLayerOptions layer = llama_layer(config, 1e-6);
  layer.causal = config.boolean("is_causal", true);
  layer.head_norm_eps = layer.layer_norm_eps;
  return llama_options(config, layer);
}

}  // namespace
}  // namespace qwen3

constinit const Family kQwen3 = {.name = "qwen3",
                                 .classes = "Qwen3",
                                 .prefix = "model.",
                                 .encoder_names = kLlamaEncoder,
                                 .head_names = {},
                                 .options = qwen3::options};

}  // namespace tessera::models::families
