// Decoders: convert tokens back to a text.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "tensor/io/json.h"

namespace tessera::text {

/// Changes tokens into parts of a text, which are then joined.
using Decoder = std::function<void(std::vector<std::string>& tokens)>;

/// The decoder that a tokenizer.json describes under "decoder".
/// **Errors**: std::runtime_error that names the file and the place: an unknown kind.
Decoder read_decoder(const Json& json);

}  // namespace tessera::text
