// Texts and pairs of texts as a task reads them.
#pragma once

#include <span>
#include <vector>

#include "models/hugging_face/task.h"

namespace tessera::models {

/// The encodings of texts, or of pairs of texts. **Errors**: as TextReader::encode_options and
/// Tokenizer::encode_all.
template <class Text>
std::vector<text::Encoding> encode_all(const TextReader& reader, std::span<const Text> texts,
                                       const TaskOptions& options) {
  const text::EncodeOptions encode = reader.encode_options(options);  // checks the tokenizer
  return reader.tokenizer->encode_all(texts, encode);
}

}  // namespace tessera::models
