// JSON values as text again.
#pragma once

#include <string>

#include "tensor/io/json.h"

namespace tessera {

/// Appends `json` to `out`, without white space. Numbers keep their values, not
/// their digits, and 1.0 does not become the integer 1.
void write_json(const Json& json, std::string& out);

}  // namespace tessera
