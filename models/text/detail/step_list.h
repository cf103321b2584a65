// The steps of a Sequence in a tokenizer.json.
#pragma once

#include <string_view>
#include <vector>

#include "tensor/io/json.h"

namespace tessera::text {

/// The steps in the list `key` of a Sequence, those of Sequences inside it among them.
/// **Errors**: std::runtime_error that names the file and the place: more than a hundred.
std::vector<Json> step_list(const Json& sequence, std::string_view key);

}  // namespace tessera::text
