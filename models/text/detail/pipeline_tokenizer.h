// Tokenizers described by a tokenizer.json, the format of Hugging Face's tokenizers library.
//
//   text -> added tokens split off -> normalizer -> pre-tokenizer: words
//        -> subword model: tokens -> cut to length -> post-processor: special tokens
//
//   const auto bert = text::load_tokenizer("all-MiniLM-L6-v2");        // tokenizers.h
//   bert->encode("Ein Café").ids;                                     // {101, 16417, 7668, 102}
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "models/text/tokenizer.h"
#include "tensor/io/json.h"

namespace tessera::text {

/// The settings of a tokenizer_config.json in addition to a tokenizer.json.
struct TokenizerConfig {
  TokenizerSettings settings = {};
  // The special tokens; absent ones have their usual names ([PAD] or <pad>, ...).
  std::optional<std::string> pad = {};
  std::optional<std::string> unknown = {};
  std::optional<std::string> cls = {};
  std::optional<std::string> sep = {};
  std::optional<std::string> mask = {};
  std::optional<Json> normalizer = {};  // replaces the file's normalizer
};

/// `config` with a name for each special token: its own; without one, BERT's name if `tokens` has
/// it, else RoBERTa's.
TokenizerConfig with_special_names(TokenizerConfig config, const Vocabulary& tokens);

/// The tokenizer of a tokenizer.json: ids and offsets are those of the tokenizers library (0.23.2).
///
/// The blocks "truncation" and "padding" are not applied, as in transformers: they remain from an
/// earlier call, and encode has options for both. Tokenizer::to_text writes a tokenizer.json,
/// without the settings of `config` except the normalizer.
/// **Errors**: std::runtime_error that names the file and the place: a part of an unknown kind.
/// **Source**: the tokenizer.json of the tokenizers library.
std::unique_ptr<Tokenizer> pipeline_tokenizer(const Json& json, const TokenizerConfig& config = {});

}  // namespace tessera::text
