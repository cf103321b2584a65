// Tables of texts: a row of column names, then the rows.
#pragma once

#include <string>
#include <vector>

namespace tessera::pages {

using Rows = std::vector<std::vector<std::string>>;

/// Columns for a terminal: the first is aligned to the left, the others to the right. An empty cell
/// is shown as "-". No row may have more cells than the first.
std::string table_text(const Rows& rows);

/// The rows as CSV; cells with a comma, a quote or a line break are in quotes.
/// **Source**: RFC 4180, with "\n" at the end of each line.
std::string csv_text(const Rows& rows);

}  // namespace tessera::pages
