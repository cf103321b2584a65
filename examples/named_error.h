// The line that a program prints for an error.
#pragma once

#include <exception>
#include <filesystem>
#include <string>

namespace tessera::examples {

/// `name: error`, with the name once: errors of the program itself already begin with it.
inline std::string named_error(const std::string& name, const std::string& error) {
  const std::string prefix = name + ": ";
  return error.starts_with(prefix) ? error : prefix + error;
}

/// The text of an exception. That of the standard library's errors about files begins with the
/// file, as those of Tessera.
inline std::string text_of(const std::exception& error) {
  const auto* const of_file = dynamic_cast<const std::filesystem::filesystem_error*>(&error);
  if (of_file == nullptr) return error.what();
  return of_file->path1().string() + ": " + of_file->code().message();
}

}  // namespace tessera::examples
