// What distinguishes one family of encoders from another: how its config.json is read, and what its
// weights are called. A family is data, in a file of families/.
#pragma once

#include <optional>
#include <span>
#include <string_view>

#include "models/classifier.h"
#include "models/pooling.h"
#include "models/token_encoder.h"
#include "tensor/io/json.h"

namespace tessera::models {

/// Which half of a gated layer's rows has the activation.
enum class Halves {
  kKept,       // the first, as in Tessera
  kExchanged,  // the second
};

/// Our names of parameters, and a family's names of the same:
///
///     {"encoder.layers.#.self_attn.in_proj_*", "encoder.layer.#.attention.self.{query,key,value}.*"}
///
/// `#` is a layer's number and `*` the last part, weight or bias. Names in braces are tensors whose
/// rows follow one another in ours. Where layers are in groups of n, `@` is the number / n and `%`
/// what remains. Several lines for one of ours are tried in their order.
struct WeightName {
  std::string_view ours;
  std::string_view theirs;
  Halves halves = Halves::kKept;
};

/// What a family has between its encoder and the scores, where that is not as in BERT.
struct FamilyHeads {
  /// Of the dense layer in front of classes of texts; absent: tanh.
  std::optional<nn::Activation> sequence = {};

  /// A masked language model's activation: what the config's key says, else `masked`.
  std::string_view masked_key = {};
  nn::Activation masked = nn::Activation::kGelu;

  /// The keys of the dropout in front of classes of texts and of tokens, and what it is without;
  /// absent: as of the encoder's input.
  std::string_view text_dropout = "classifier_dropout";
  std::string_view token_dropout = "classifier_dropout";
  std::optional<double> dropout = {};

  /// One head in front of all scores, and how the tokens of a text become one vector; null
  /// functions: there is none, and the first token's.
  HeadOptions (*shared)(const Json& config) = nullptr;
  Pooling (*pooling)(const Json& config) = nullptr;
};

/// A family of encoders.
struct Family {
  std::string_view name;     // "model_type" in config.json
  std::string_view classes;  // "Bert", with which transformers' names of its models begin
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

/// All families that are known.
std::span<const Family* const> all_families();

/// The family that config.json names. **Errors**: none, or one that is not known; some of those are
/// refused with their reason.
const Family& family_of(const Json& config);

}  // namespace tessera::models
