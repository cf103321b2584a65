// Reads text files, as a whole or by lines.
//
// Files are UTF-8. A leading byte order mark is dropped, and lines may end with \r\n.
// **Errors** throughout: std::runtime_error that names the file. For bytes that are not UTF-8, it
// also names the line and the byte in the line, counted from 1.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::text {

/// A whole file, with line ends as \n. **Errors**: no such file; an empty file; bytes that are not
/// UTF-8.
std::string read_text(const std::filesystem::path& path);

/// The lines of a file, without their ends. **Errors**: as read_text.
std::vector<std::string> read_lines(const std::filesystem::path& path);

/// As read_text, for bytes that are already in memory. Errors call them `name`.
std::string clean_text(std::string bytes, const std::string& name);

/// The lines of a text whose lines end with \n, without the \n.
std::vector<std::string> split_lines(std::string_view text);

}  // namespace tessera::text
