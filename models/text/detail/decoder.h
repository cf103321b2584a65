// Decoders: from tokens back to a text.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "tensor/io/json.h"

namespace tessera::text {

/// Changes tokens into parts of a text, which then are joined.
class Decoder {
 public:
  virtual ~Decoder() = default;
  virtual void apply(std::vector<std::string>& tokens) const = 0;
};

/// The decoder that a tokenizer.json describes under "decoder".
/// **Errors**: std::runtime_error that names the file and the place: a kind that is not known.
std::unique_ptr<Decoder> read_decoder(const Json& json);

}  // namespace tessera::text
