// Text from files: plain, and by lines.
//
// Files are UTF-8; a leading byte order mark is dropped, and lines may end with \r\n.
// **Errors** throughout: std::runtime_error with the file's name, the line and the byte in it, both
// counted from 1.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace tessera::text {

/// A whole file, line ends as \n. Errors: no such file, an empty one, bytes that are not UTF-8.
std::string read_text(const std::filesystem::path& path);

/// The lines of a file, without their ends. Errors: as read_text.
std::vector<std::string> read_lines(const std::filesystem::path& path);

}  // namespace tessera::text
