// JSON files in the format of transformers, or with some keys changed.
#pragma once

#include <string>

#include "tessera/tensor/io/json.h"

namespace tessera::models {

/// The values of an object or list in one line: `{ "a": 1, "b": 2 }`, `["a", "b"]`.
inline constexpr JsonSpacing kObjectInLine = {" ", ", ", " ", ": "};
inline constexpr JsonSpacing kListInLine = {"", ", ", "", ": "};

/// A file with an object of these values, one key per line.
std::string file_of(const JsonMembers& values);
/// A file with `object` and these values: each replaces the value of its key, or is added at the
/// end.
std::string edited(const Json& object, const JsonMembers& changes);

}  // namespace tessera::models
