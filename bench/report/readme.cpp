// Tables inside Markdown.
#include <algorithm>
#include <map>
#include <string>

#include "bench/report/report.h"
#include "bench/report/tables.h"
#include "tensor/error.h"

namespace tessera::results {

namespace {

constexpr std::string_view kBegin = "<!-- table: ";
constexpr std::string_view kClose = " -->";
constexpr std::string_view kEnd = "<!-- end of table -->";

/// The table of this name; empty if its cases were not measured.
Table table_named(const std::string& name, const Results& results, const std::string& place) {
  const std::map<std::string, Table (*)(const Results&)> tables = {
      {"machine", machine_table},       {"bandwidth", bandwidth_table},
      {"highlights", highlights_table}, {"peers", peer_groups_table},
      {"peer_cases", peer_cases_table}, {"cases", cases_table},
      {"failures", failures_table}};
  if (name.ends_with("_ladder")) return ladder_table(results, name);
  const auto found = tables.find(name);
  if (found != tables.end()) return found->second(results);
  std::string names = "matmul_ladder, attention_ladder";
  for (const auto& [known, make] : tables) names += ", " + known;
  fail_file(place, "table must be one of ", names, ", got '", name, "'");
}

}  // namespace

std::string with_tables(std::string_view markdown, const Results& results,
                        const std::string& file) {
  std::string out;
  std::string old;     // the lines of the present table
  std::string name;    // of the present table; empty outside
  index_t opened = 0;  // the line of its marker
  index_t line = 0;
  while (!markdown.empty()) {
    ++line;
    const std::size_t stop = std::min(markdown.find('\n'), markdown.size() - 1);
    const std::string_view text = markdown.substr(0, stop + 1);
    markdown.remove_prefix(stop + 1);
    const std::string place = str_cat(file, ":", line);
    if (text.starts_with(kBegin)) {
      if (!name.empty())
        fail_file(place, "the table of line ", opened, " must end first; add '", kEnd, "'");
      const std::size_t close = text.find(kClose);
      if (close == std::string_view::npos) fail_file(place, "line must end in '", kClose, "'");
      name = text.substr(kBegin.size(), close - kBegin.size());
      opened = line;
      out += text;
      old.clear();
    } else if (text.starts_with(kEnd)) {
      if (name.empty()) fail_file(place, "the end of a table must have a beginning, got none");
      const Table table = table_named(name, results, place);
      out += table.empty() ? old : "\n" + to_markdown(table) + "\n";
      out += text;
      name.clear();
    } else {
      (name.empty() ? out : old) += text;
    }
  }
  if (!name.empty())
    fail_file(str_cat(file, ":", opened), "the table '", name, "' must have an end; add '", kEnd,
              "'");
  return out;
}

}  // namespace tessera::results
