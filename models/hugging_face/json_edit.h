// JSON objects that are written: as they were read, but for some keys.
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "tensor/io/json.h"

namespace tessera::models {

/// Keys and their new values, as JSON text.
using JsonChanges = std::vector<std::pair<std::string, std::string>>;

/// The object with these values: in the place of the key's own, or at the end. A key a line.
std::string edited(const Json& object, const JsonChanges& changes);
/// A file of an object of these alone, a key a line; and such an object as a value, in one line.
std::string json_object(const JsonChanges& values);
std::string json_value(const JsonChanges& values);

/// A list of texts, `["a","b"]`.
/// **Errors**: std::invalid_argument in the name of `op`: a text that is not UTF-8.
std::string json_list(std::span<const std::string> texts, const char* op);

/// Writes `text` as the file. **Errors**: as write_file.
void write_text(const std::filesystem::path& path, const std::string& text);

}  // namespace tessera::models
