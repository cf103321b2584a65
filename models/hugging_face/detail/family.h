// The differences between families of encoders: how config.json is read, and the names of the
// weights. A family is data, in a file of families/.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/models/classifier.h"
#include "tessera/models/pooling.h"
#include "tessera/models/token_encoder.h"
#include "tessera/tensor/io/json.h"

namespace tessera::models {

/// The half of a gated layer's rows that has the activation.
enum class Halves {
  kKept,       // the first, as in Tessera
  kExchanged,  // the second
};

/// The tensors that are joined in one of our parameters.
enum class Joined {
  kEqual,             // with equal numbers of rows
  kQueriesKeysValues  // those of keys and of values have fewer rows if heads are grouped
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
  Joined joined = Joined::kEqual;
};

/// The parts between a family's encoder and the scores that differ from BERT.
struct FamilyHeads {
  /// The activation of the dense layer before classes of texts; absent: tanh.
  std::optional<nn::Activation> sequence = {};

  /// The activation of a masked language model: the value of the config's key, else `masked`.
  std::string_view masked_key = {};
  nn::Activation masked = nn::Activation::kGelu;
  /// No dense layer and no norm; the matrix is tied only if the config requests it.
  bool plain_masked = false;
  /// The key for the bias of its scores, with this value if the key is absent; no key: a bias.
  std::string_view masked_bias_key = {};
  bool masked_bias = true;

  /// The keys of the dropout before classes of texts and of tokens, and the value without the key;
  /// absent: as for the encoder's input.
  std::string_view text_dropout = "classifier_dropout";
  std::string_view token_dropout = "classifier_dropout";
  std::optional<double> dropout = {};

  /// One head for all scores, the pooling of the tokens of a text, and whether the head is before
  /// the pooling; null functions: no head, the first token's vector, and false.
  PredictionHeadOptions (*shared)(const Json& config) = nullptr;
  Pooling (*pooling)(const Json& config) = nullptr;
  bool (*head_first)(const Json& config) = nullptr;
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

/// The tensors of a checkpoint that form one of our parameters, in the order of its rows. Halves
/// are exchanged after the tensors are joined.
struct TensorNames {
  std::vector<std::string> names;
  Halves halves = Halves::kKept;
  std::vector<index_t> shares = {};  // proportions of the rows, one per name; empty: equal

  /// The number of rows of the tensor number `i`, if our parameter has `rows`.
  index_t rows_of(std::size_t i, index_t rows) const;
};

/// The tensors that `line` gives for our parameter `name`; nullopt if the line is for other
/// parameters.
std::optional<TensorNames> tensor_names(const WeightName& line, const std::string& name,
                                        index_t group_size);

/// Our parameter, joined from the tensors `parts`, in the order of their names.
Tensor joined(const TensorNames& tensors, const std::vector<Tensor>& parts);

/// The inverse of joined: the tensors, which share the elements of our parameter. A parameter whose
/// halves are exchanged is copied.
std::vector<Tensor> cut(const TensorNames& tensors, const Tensor& parameter);

/// Our names in `line`, for `layers` layers.
std::vector<std::string> our_names(const WeightName& line, index_t layers);

/// The names that a tensor may have in a file, its own first: with the family's prefix, and with
/// TensorFlow's names of a norm's parameters, gamma and beta.
std::vector<std::string> spellings(const std::string& name, std::string_view prefix);

}  // namespace tessera::models

// The families; each has a file, and a namespace, with its names and its options.
namespace tessera::models::families {

extern const Family kBert;
extern const Family kRoberta, kXlmRoberta, kCamembert;
extern const Family kDistilBert;
extern const Family kMpnet;
extern const Family kAlbert;
extern const Family kElectra;
extern const Family kModernBert;
extern const Family kNomicBert;
extern const Family kGte;
extern const Family kQwen3;
extern const Family kEuroBert;
extern const Family kDebertaV2;

/// The parts of BERT that its relatives use: a layer, the whole, and the encoder's names.
EncoderLayerOptions bert_layer(const Json& config);
TokenEncoderOptions bert_options(const Json& config);

/// Options of a Llama layer and of the encoder made of it, for Qwen3 and EuroBERT; `eps` is the
/// epsilon of a config without one.
EncoderLayerOptions llama_layer(const Json& config, double eps);
TokenEncoderOptions llama_options(const Json& config, const EncoderLayerOptions& layer);

/// Embeddings with a norm, then a stack of these layers; the key `layers` has their number.
/// Positions are from a table or computed by the layers.
TokenEncoderOptions learned_positions(const Json& config, const EncoderLayerOptions& layer,
                                      std::string_view layers);
TokenEncoderOptions rotary_positions(const Json& config, const EncoderLayerOptions& layer,
                                     std::string_view layers);

inline constexpr WeightName kBertEncoder[] = {
    {"embeddings.word_embeddings.weight", "embeddings.word_embeddings.weight"},
    {"embeddings.position_embeddings.weight", "embeddings.position_embeddings.weight"},
    {"embeddings.token_type_embeddings.weight", "embeddings.token_type_embeddings.weight"},
    {"embeddings.LayerNorm.*", "embeddings.LayerNorm.*"},
    {"embeddings.projection.*", "embeddings_project.*"},  // ELECTRA's
    {"encoder.layers.#.self_attn.in_proj_*", "encoder.layer.#.attention.self.{query,key,value}.*"},
    {"encoder.layers.#.self_attn.out_proj.*", "encoder.layer.#.attention.output.dense.*"},
    {"encoder.layers.#.norm1.*", "encoder.layer.#.attention.output.LayerNorm.*"},
    {"encoder.layers.#.linear1.*", "encoder.layer.#.intermediate.dense.*"},
    {"encoder.layers.#.linear2.*", "encoder.layer.#.output.dense.*"},
    {"encoder.layers.#.norm2.*", "encoder.layer.#.output.LayerNorm.*"},
};

inline constexpr WeightName kLlamaEncoder[] = {
    {"embeddings.word_embeddings.weight", "embed_tokens.weight"},
    {"encoder.layers.#.norm1.*", "layers.#.input_layernorm.*"},
    {"encoder.layers.#.self_attn.in_proj_*", "layers.#.self_attn.{q_proj,k_proj,v_proj}.*",
     Halves::kKept, Joined::kQueriesKeysValues},
    {"encoder.layers.#.self_attn.q_norm.*", "layers.#.self_attn.q_norm.*"},  // Qwen3's
    {"encoder.layers.#.self_attn.k_norm.*", "layers.#.self_attn.k_norm.*"},
    {"encoder.layers.#.self_attn.out_proj.*", "layers.#.self_attn.o_proj.*"},
    {"encoder.layers.#.norm2.*", "layers.#.post_attention_layernorm.*"},
    {"encoder.layers.#.linear1.*", "layers.#.mlp.{gate_proj,up_proj}.*"},
    {"encoder.layers.#.linear2.*", "layers.#.mlp.down_proj.*"},
    {"encoder.norm.*", "norm.*"},
};

/// RoBERTa's heads; MPNet's have the same names.
inline constexpr WeightName kRobertaHeads[] = {
    {"pooler.dense.*", "pooler.dense.*"},
    {"head.dense.*", "classifier.dense.*"},
    {"classifier.*", "classifier.out_proj.*"},
    {"classifier.*", "classifier.*"},        // of tokens
    {"token_classifier.*", "classifier.*"},  // only of tokens
    {"qa_outputs.*", "qa_outputs.*"},
    {"cls.predictions.transform.dense.*", "lm_head.dense.*"},
    {"cls.predictions.transform.LayerNorm.*", "lm_head.layer_norm.*"},
    {"cls.predictions.bias", "lm_head.bias"},
    {"cls.predictions.bias", "lm_head.decoder.bias"},
    {"cls.predictions.decoder.weight", "lm_head.decoder.weight"},
    {"embeddings.word_embeddings.weight", "lm_head.decoder.weight"},  // tied, stored once
};

}  // namespace tessera::models::families
