// Tables of texts: a row of column names, then the rows.
#pragma once

#include <algorithm>
#include <string>
#include <vector>

#include "tensor/format.h"

namespace tessera::pages {

using Rows = std::vector<std::vector<std::string>>;

/// Columns for a terminal: the first is aligned to the left, the others to the right. An empty cell
/// is shown as "-". No row may have more cells than the first.
inline std::string table_text(Rows rows) {
  for (auto& row : rows) std::ranges::replace(row, std::string(), std::string("-"));
  return in_columns(rows, 1);
}

}  // namespace tessera::pages
