// The differences between families of encoders: how config.json is read, and the names of the
// weights. A family is data, in a file of families/.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "models/classifier.h"
#include "models/pooling.h"
#include "models/token_encoder.h"
#include "tensor/io/json.h"

namespace tessera::models {

/// The half of a gated layer's rows that has the activation.
enum class Halves {
  kKept,       // the first, as in Tessera
  kExchanged,  // the second
};

/// Our names of parameters, and a family's names for them:
///
///   {"encoder.layers.#.self_attn.in_proj_*", "encoder.layer.#.attention.self.{query,key,value}.*"}
///
/// `#` is a layer's number and `*` the last part, weight or bias. Names in braces are tensors whose
/// rows are joined in ours. If layers are in groups of n, `@` is the number / n and `%` the
/// remainder. If several lines have the same name of ours, they are tried in their order.
struct WeightName {
  std::string_view ours;
  std::string_view theirs;
  Halves halves = Halves::kKept;
};

/// The parts between a family's encoder and the scores that differ from BERT.
struct FamilyHeads {
  /// The activation of the dense layer before classes of texts; absent: tanh.
  std::optional<nn::Activation> sequence = {};

  /// The activation of a masked language model: the value of the config's key, else `masked`.
  std::string_view masked_key = {};
  nn::Activation masked = nn::Activation::kGelu;

  /// The keys of the dropout before classes of texts and of tokens, and the value without the key;
  /// absent: as for the encoder's input.
  std::string_view text_dropout = "classifier_dropout";
  std::string_view token_dropout = "classifier_dropout";
  std::optional<double> dropout = {};

  /// One head for all scores, and the pooling of the tokens of a text; null functions: no head, and
  /// the first token's vector.
  PredictionHeadOptions (*shared)(const Json& config) = nullptr;
  Pooling (*pooling)(const Json& config) = nullptr;
};

/// A family of encoders.
struct Family {
  std::string_view name;     // "model_type" in config.json
  std::string_view classes;  // the beginning of the names of transformers' models, "Bert"
  std::string_view prefix;   // of the encoder's names in checkpoints that have a head, "bert."
  std::span<const WeightName> encoder_names;
  std::span<const WeightName> head_names;

  /// The encoder that a config describes.
  /// **Errors**: std::runtime_error with the file's name, the key, the rule and the value.
  TokenEncoderOptions (*options)(const Json& config);

  FamilyHeads heads = {};

  /// The number of layers in a group, for names with `@`; a null function means one.
  index_t (*group_size)(const Json& config) = nullptr;
};

/// All supported families.
std::span<const Family* const> all_families();

/// The family that config.json names. **Errors**: no name, or an unknown one; the error gives the
/// reason for some of these.
const Family& family_of(const Json& config);

}  // namespace tessera::models
