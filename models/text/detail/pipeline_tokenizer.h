// Tokenizers described by a tokenizer.json, the format of Hugging Face's tokenizers library.
//
//   text -> added tokens split off -> normalizer -> pre-tokenizer: words
//        -> subword model: tokens -> truncated -> post-processor: special tokens
//
//   const auto bert = text::load_tokenizer("all-MiniLM-L6-v2");        // tokenizers.h
//   bert->encode("Ein Café").ids;                                     // {101, 16417, 7668, 102}
#pragma once

#include <memory>

#include "tessera/models/text/detail/tokenizer_config.h"
#include "tessera/models/text/tokenizer.h"
#include "tessera/tensor/io/json.h"

namespace tessera::text {

/// The tokenizer of a tokenizer.json: ids and offsets are those of the tokenizers library (0.23.2).
///
/// The blocks "truncation" and "padding" are not applied, as in transformers: they remain from an
/// earlier call, and encode has options for both. Tokenizer::to_text writes a tokenizer.json with
/// the added tokens and steps of `config`, but without its settings.
/// **Errors**: std::runtime_error that names the file and the place: a part of an unknown kind.
/// **Source**: the tokenizer.json of the tokenizers library.
std::unique_ptr<Tokenizer> pipeline_tokenizer(const Json& json, const TokenizerConfig& config = {});

}  // namespace tessera::text
