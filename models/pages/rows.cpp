#include "models/pages/rows.h"

#include <algorithm>

#include "tensor/format.h"

namespace tessera::pages {

namespace {

std::string csv_cell(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char c : text) quoted += c == '"' ? std::string("\"\"") : std::string(1, c);
  return quoted + '"';
}

}  // namespace

std::string table_text(const Rows& rows) {
  Rows shown = rows;
  for (auto& row : shown) std::ranges::replace(row, std::string(), std::string("-"));
  return in_columns(shown, 1);
}

std::string csv_text(const Rows& rows) {
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) text += (i > 0 ? "," : "") + csv_cell(row[i]);
    text += '\n';
  }
  return text;
}

}  // namespace tessera::pages
