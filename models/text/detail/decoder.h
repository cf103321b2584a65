// Decoders: convert tokens back to a text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tensor/io/json.h"

namespace tessera::text {

/// Changes tokens into parts of a text, which are then joined.
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual void apply(std::vector<std::string>& tokens) const = 0;
};

/// The decoder that a tokenizer.json describes under "decoder".
/// **Errors**: std::runtime_error that names the file and the place: an unknown kind.
std::unique_ptr<Decoder> read_decoder(const Json& json);

}  // namespace tessera::text
