// Normalizers: the second step from a text to tokens, between added tokens.
#pragma once

#include <functional>

#include "models/text/detail/aligned_text.h"
#include "tensor/io/json.h"

namespace tessera::text {

/// Rewrites a text: lower case, no accents, one form for equal characters, ...
using Normalizer = std::function<void(AlignedText& text)>;

/// The normalizer that a tokenizer.json describes under "normalizer".
/// **Errors**: std::runtime_error that names the file and the place: an unknown kind.
Normalizer read_normalizer(const Json& json);

}  // namespace tessera::text
