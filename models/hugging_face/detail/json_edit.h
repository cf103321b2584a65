// JSON files as transformers writes them, or as they were read but for some keys.
#pragma once

#include <string>

#include "tensor/io/json.h"

namespace tessera::models {

/// The values of an object or list in one line: `{ "a": 1, "b": 2 }`, `["a", "b"]`.
inline constexpr JsonLayout kObjectInLine = {" ", ", ", " ", ": "};
inline constexpr JsonLayout kListInLine = {"", ", ", "", ": "};

/// A file of an object of these values, a key a line.
std::string file_of(const JsonMembers& values);
/// A file of `object` with these values: in the place of the key's own, or at the end.
std::string edited(const Json& object, const JsonMembers& changes);

}  // namespace tessera::models
