// Tables inside READMEs.
#include <algorithm>
#include <string>

#include "bench/report/report.h"
#include "bench/report/tables.h"
#include "tensor/error.h"

namespace tessera::results {

namespace {

constexpr std::string_view kBegin = "<!-- table: ";
constexpr std::string_view kClose = " -->";
constexpr std::string_view kEnd = "<!-- end of table -->";

/// The table of this name; empty where its cases were not measured.
Table table_named(const std::string& name, const Results& results, const std::string& place) {
  if (name == "machine") return machine_table(results);
  if (name == "highlights") return highlights_table(results);
  if (name == "peers") return peer_groups_table(results);
  if (name.ends_with("_ladder")) return ladder_table(results, name);
  fail_file(place, "table must be machine, highlights, peers, matmul_ladder or attention_ladder, ",
            "got '", name, "'");
}

}  // namespace

std::string with_tables(std::string_view markdown, const Results& results,
                        const std::string& file) {
  std::string out;
  std::string old;     // the lines of the table at hand
  std::string name;    // of the table at hand; empty outside
  index_t opened = 0;  // where it began
  index_t line = 0;
  while (!markdown.empty()) {
    ++line;
    const std::size_t stop = std::min(markdown.find('\n'), markdown.size() - 1);
    const std::string_view text = markdown.substr(0, stop + 1);
    markdown.remove_prefix(stop + 1);
    const std::string place = str_cat(file, ":", line);
    if (text.starts_with(kBegin)) {
      if (!name.empty()) fail_file(place, "the table of line ", opened, " must end first");
      const std::size_t close = text.find(kClose);
      if (close == std::string_view::npos) fail_file(place, "line must have '", kClose, "'");
      name = text.substr(kBegin.size(), close - kBegin.size());
      opened = line;
      out += text;
      old.clear();
    } else if (text.starts_with(kEnd)) {
      if (name.empty()) fail_file(place, "a table must begin before this end");
      const Table table = table_named(name, results, place);
      out += table.empty() ? old : "\n" + to_markdown(table) + "\n";
      out += text;
      name.clear();
    } else {
      (name.empty() ? out : old) += text;
    }
  }
  if (!name.empty())
    fail_file(str_cat(file, ":", opened), "the table '", name, "' must have an end");
  return out;
}

}  // namespace tessera::results
