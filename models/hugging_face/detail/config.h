// The values that families read from config.json, with their permitted ranges.
#pragma once

#include <optional>
#include <string_view>

#include "tessera/models/encoder_layer.h"
#include "tessera/tensor/io/json.h"

namespace tessera::models::config {

inline constexpr index_t kMaxWidth = 65'536;
inline constexpr index_t kMaxLayers = 1024;
inline constexpr index_t kMaxVocabulary = index_t{1} << 24;
inline constexpr index_t kMaxPositions = index_t{1} << 20;

/// Sizes, at least 1. Without `otherwise` the key is required.
index_t width(const Json& config, std::string_view key, std::optional<index_t> otherwise = {});
index_t layer_count(const Json& config, std::string_view key);
index_t positions(const Json& config, std::string_view key, index_t otherwise);

/// The number of tokens that a table of `rows` positions can hold if the first `before` rows are
/// not used for tokens. **Errors**: too few rows.
index_t positions_after(const Json& config, std::string_view key, index_t rows, index_t before);

/// The number of heads. **Errors**: also one that does not divide `d_model`.
index_t heads(const Json& config, std::string_view key, index_t d_model);

/// A number from 0 to 1.
double probability(const Json& config, std::string_view key, double otherwise);
/// A number above 0 and below 1.
double epsilon(const Json& config, std::string_view key, double otherwise);

/// An activation function by Hugging Face's name. **Errors**: an unknown one.
nn::Activation activation(const Json& config, std::string_view key, std::string_view otherwise);

/// Rotary positions of whole heads. **Errors**: an odd width of heads; a table that is too large.
nn::RotaryOptions rotary(const Json& config, double base, index_t max_positions, index_t head_dim);
/// A base of rotary positions: a number above 0.
double rotary_base(const Json& config, std::string_view key, std::optional<double> otherwise = {});
/// The base in an object such as `rope_parameters`. **Errors**: a rope_type other than "default".
double plain_rope_base(const Json& parameters, std::optional<double> otherwise = {});
/// Throws if the config scales rotary positions by `rope_scaling`.
void want_no_rope_scaling(const Json& config);

/// Throws if the key has a different value, which means an unsupported model; it may be absent or
/// null.
void want_flag(const Json& config, std::string_view key, bool value);
void want_text(const Json& config, std::string_view key, std::string_view value);

}  // namespace tessera::models::config
