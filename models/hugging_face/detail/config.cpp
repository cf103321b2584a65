#include "tessera/models/hugging_face/detail/config.h"

#include <array>
#include <string>

namespace tessera::models::config {

index_t width(const Json& config, std::string_view key, std::optional<index_t> otherwise) {
  return config.integer(key, {1, kMaxWidth}, otherwise);
}

index_t layer_count(const Json& config, std::string_view key) {
  return config.integer(key, {1, kMaxLayers});
}

index_t positions(const Json& config, std::string_view key, index_t otherwise) {
  return config.integer(key, {1, kMaxPositions}, otherwise);
}

index_t positions_after(const Json& config, std::string_view key, index_t rows, index_t before) {
  if (rows <= before) {
    config.at(key).fail("must be greater than ", before,
                        ", the number of rows before the first token's, got ", rows);
  }
  return rows - before;
}

index_t heads(const Json& config, std::string_view key, index_t d_model) {
  const index_t count = config.integer(key, {1, d_model});
  if (d_model % count != 0) {
    config.at(key).fail("must divide the width ", d_model, ", got ", count);
  }
  return count;
}

double probability(const Json& config, std::string_view key, double otherwise) {
  const double p = config.number(key, otherwise);
  if (!(p >= 0 && p <= 1)) config.at(key).fail("must be from 0 to 1, got ", p);
  return p;
}

double epsilon(const Json& config, std::string_view key, double otherwise) {
  const double eps = config.number(key, otherwise);
  if (!(eps > 0 && eps < 1))
    config.at(key).fail("must be greater than 0 and less than 1, got ", eps);
  return eps;
}

nn::Activation activation(const Json& config, std::string_view key, std::string_view otherwise) {
  struct Name {
    std::string_view name;
    nn::Activation activation;
  };
  constexpr std::array kNames = {
      Name{"gelu", nn::Activation::kGelu},
      Name{"gelu_python", nn::Activation::kGelu},
      Name{"gelu_new", nn::Activation::kGeluTanh},
      Name{"gelu_fast", nn::Activation::kGeluTanh},
      Name{"gelu_pytorch_tanh", nn::Activation::kGeluTanh},
      Name{"relu", nn::Activation::kRelu},
      Name{"silu", nn::Activation::kSilu},
      Name{"swish", nn::Activation::kSilu},
  };
  const std::string name = config.text(key, std::string(otherwise));
  for (const Name& known : kNames) {
    if (known.name == name) return known.activation;
  }
  config.at(key).fail("must be gelu, gelu_new, gelu_pytorch_tanh, relu or silu, got ",
                      config.at(key).described());
}

nn::RotaryOptions rotary(const Json& config, double base, index_t max_positions, index_t head_dim) {
  constexpr index_t kMaxAngles = index_t{5} << 20;  // 60 MiB, for any weights
  if (head_dim % 2 != 0) {
    config.fail("width of a head must be even for rotary positions, got ", head_dim);
  }
  if (head_dim * max_positions > kMaxAngles) {
    config.fail("rotary positions for ", max_positions, " tokens and heads of width ", head_dim,
                ": product must be at most ", kMaxAngles, ", got ", head_dim * max_positions);
  }
  return {.base = base, .max_positions = max_positions};
}

double rotary_base(const Json& config, std::string_view key, std::optional<double> otherwise) {
  const double base = config.number(key, otherwise);
  if (!(base > 0 && base < 1e30)) config.at(key).fail("must be greater than 0, got ", base);
  return base;
}

double plain_rope_base(const Json& parameters, std::optional<double> otherwise) {
  want_text(parameters, parameters.has("rope_type") ? "rope_type" : "type", "default");
  return rotary_base(parameters, "rope_theta", otherwise);
}

void want_no_rope_scaling(const Json& config) {
  if (const auto scaling = config.find("rope_scaling")) {
    scaling->fail("must be null, got ", scaling->described());
  }
}

void want_flag(const Json& config, std::string_view key, bool value) {
  const auto found = config.find(key);
  if (found && found->boolean() != value) {
    found->fail("must be ", value ? "true" : "false", ", got ", found->described());
  }
}

void want_text(const Json& config, std::string_view key, std::string_view value) {
  const auto found = config.find(key);
  if (found && found->text() != value) {
    found->fail("must be the text '", value, "', got ", found->described());
  }
}

}  // namespace tessera::models::config
