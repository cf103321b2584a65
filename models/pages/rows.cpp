#include "models/pages/rows.h"

#include <algorithm>
#include <cstddef>

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
  const auto shown = [](const std::string& cell) { return cell.empty() ? std::string("-") : cell; };
  std::vector<std::size_t> widths(rows.empty() ? 0 : rows.front().size());
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      widths[i] = std::max(widths[i], shown(row[i]).size());
    }
  }
  std::string text;
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < row.size(); ++i) {
      const std::string cell = shown(row[i]);
      const std::string blanks(widths[i] - cell.size(), ' ');
      text += i == 0 ? cell + blanks : "  " + blanks + cell;
    }
    text += '\n';
  }
  return text;
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
