// Many encoded texts through a model: batches of equal lengths, on all threads.
//
//   for_each_batch(encodings, {}, [&](const Tokens& tokens, std::span<const index_t> chosen) {
//     const Tensor scores = model(tokens);            // row i belongs to encodings[chosen[i]]
//   });
#pragma once

#include <filesystem>
#include <functional>
#include <span>

#include "models/hugging_face/finite.h"
#include "models/text/tokenizer.h"
#include "models/tokens.h"

namespace tessera::models {

struct TextBatchOptions {
  index_t batch_size = 32;  // at most: fewer where texts are long, or too few for all threads
  index_t pad = 0;          // stands after a sequence's end
  bool feed_types = true;  // whether the model reads token types; they are left out where all are 0
  std::function<void(index_t done, index_t all)> progress = {};  // called by one thread at a time
  TextName name = {};                 // what errors call an encoding; empty: "text 3"
  std::filesystem::path folder = {};  // of the model, in which a NotFinite looks for its reason
};

/// Calls `body(tokens, chosen)` for batches that have each encoding once: the longest first, rows
/// of equal lengths together, so that little is padding. `chosen` are the encodings' numbers.
///
/// Several threads call `body` at once, each with a batch of its own, and inside it every op stays
/// in its thread and no tape records. So `body` writes to what belongs to its chosen encodings
/// alone. Which batch an encoding is in changes no bit of what a model gives it.
///
/// **Errors**: batch_size below 1; an encoding without a token; what `body` throws, for the first
/// batch of those for which it does; if that is NotFinite, as with_finite_outputs.
void for_each_batch(
    std::span<const text::Encoding> encodings, const TextBatchOptions& options,
    const std::function<void(const Tokens& tokens, std::span<const index_t> chosen)>& body);

}  // namespace tessera::models
