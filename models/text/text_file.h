// Reads text files, as a whole or by lines.
//
// Files are UTF-8; a leading byte order mark is dropped, and lines may end with \r\n.
// **Errors** throughout: std::runtime_error with the file's name, the line and the byte in it, both
// counted from 1.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::text {

/// A whole file, with line ends as \n. **Errors**: no such file, an empty one, bytes that are not
/// UTF-8.
std::string read_text(const std::filesystem::path& path);

/// The lines of a file, without their ends. **Errors**: as read_text.
std::vector<std::string> read_lines(const std::filesystem::path& path);

/// read_text for bytes from elsewhere; errors name them `name`.
std::string clean_text(std::string bytes, const std::string& name);

/// The lines of a text, without their ends, which are \n.
std::vector<std::string> split_lines(std::string_view text);

}  // namespace tessera::text
