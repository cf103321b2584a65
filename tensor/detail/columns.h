// Tables for a terminal. Private to the library.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace tessera::detail {

/// The rows in columns two blanks apart: the first `texts` columns to the left, the others to the
/// right, without blanks at the ends of lines. No row is longer than the first.
std::string in_columns(const std::vector<std::vector<std::string>>& rows, std::size_t texts);

}  // namespace tessera::detail
