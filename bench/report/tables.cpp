#include "bench/report/report.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "bench/results/units.h"
#include "tessera/models/pages/page.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/format.h"

namespace tessera::results {

namespace {

constexpr const char* kOurs = "tessera";

struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows = {};
};

std::string percent(double fraction) {
  return decimals(fraction * 100, 0) + " %";
}

std::string of_peak(const Result& r) {
  return r.flops > 0 && r.peak_flops > 0 ? percent(r.flops_s() / r.peak_flops) : "";
}

std::string gflops(const Result& r) {
  return r.flops > 0 ? digits_text(r.flops_s() / 1e9, 3) : "";
}

std::string value_text(const Json& value) {
  if (value.kind() == Json::Kind::kText) return std::string(value.text());
  if (value.kind() == Json::Kind::kInteger) return str_cat(value.integer());
  if (value.kind() == Json::Kind::kNumber) return digits_text(value.number(), 3);
  return "";
}

std::string caches_text(const Json& caches) {
  std::string text;
  for (const Json& cache : caches.items()) {
    text += str_cat(text.empty() ? "" : ", ", "L", cache.integer("level"), " ",
                    cache.text("kind", ""), " ", bytes_text(cache.number("bytes")));
  }
  return text;
}

/// The best time of another library for our case, null if there is none.
const Result* best_peer(const Results& results, const Result& ours) {
  const Result* best = nullptr;
  for (const Result& r : results.cases) {
    const bool same = r.name == ours.name && r.threads == ours.threads && r.by != kOurs;
    if (same && (best == nullptr || r.best_s < best->best_s)) best = &r;
  }
  return best;
}

std::vector<const Result*> ours_with_peers(const Results& results) {
  std::vector<const Result*> found;
  for (const Result& r : results.cases) {
    if (r.by == kOurs && best_peer(results, r) != nullptr) found.push_back(&r);
  }
  return found;
}

/// The case by `by` with this number of threads, null if it was not measured.
const Result* find_case(const Results& results, const std::string& name, const std::string& by,
                        index_t threads) {
  for (const Result& r : results.cases) {
    if (r.name == name && r.by == by && r.threads == threads) return &r;
  }
  return nullptr;
}

/// Processor, caches, instruction set, compiler, commit and the rest of "machine".
Table machine_table(const Results& results) {
  Table table{.columns = {"", ""}};
  for (const Json& item : results.machine.items()) {
    const std::string text = item.is_list() ? caches_text(item) : value_text(item);
    if (!text.empty()) table.rows.push_back({std::string(item.key()), text});
  }
  return table;
}

/// Bytes per second of each cache level and of memory.
Table bandwidth_table(const Results& results) {
  Table table{.columns = {"level", "bytes touched", "GB/s"}};
  for (const Bandwidth& b : results.bandwidth) {
    table.rows.push_back({b.level, bytes_text(b.bytes), digits_text(b.bytes_s / 1e9, 3)});
  }
  return table;
}

/// The steps of `ladder` ("matmul_ladder"), on one thread and on the largest number.
Table ladder_table(const Results& results, const std::string& ladder) {
  const index_t most = most_threads(results);
  Table table{.columns = {"step", "idea", "GFLOP/s, 1 thread", "of peak"}};
  if (most > 1) {
    table.columns.push_back(str_cat("GFLOP/s, ", most, " threads"));
    table.columns.push_back("of peak");
  }
  table.columns.push_back("memory");
  for (index_t step = 0;; ++step) {
    const std::string name = str_cat(ladder, "/step:", step);
    const Result* one = find_case(results, name, kOurs, 1);
    const Result* all = most > 1 ? find_case(results, name, kOurs, most) : nullptr;
    const Result* any = one != nullptr ? one : all;
    if (any == nullptr) return table;
    std::vector<std::string> row = {str_cat(step), any->label};
    for (const Result* r : {one, all}) {
      if (r == all && most == 1) continue;
      row.push_back(r != nullptr ? gflops(*r) : "");
      row.push_back(r != nullptr ? of_peak(*r) : "");
    }
    row.push_back(any->memory_bytes ? bytes_text(*any->memory_bytes) : "");
    table.rows.push_back(std::move(row));
  }
}

/// Every case that another library also ran: the best times.
Table peer_cases_table(const Results& results) {
  Table table{.columns = {"case", "threads", "tessera"}};
  std::set<std::string> names;
  for (const Result& r : results.cases) {
    if (r.by != kOurs) names.insert(r.by);
  }
  table.columns.insert(table.columns.end(), names.begin(), names.end());
  table.columns.push_back("best other / ours");
  for (const Result* ours : ours_with_peers(results)) {
    std::vector<std::string> row = {ours->name, str_cat(ours->threads), seconds_text(ours->best_s)};
    for (const std::string& name : names) {
      const Result* r = find_case(results, ours->name, name, ours->threads);
      row.push_back(r != nullptr ? seconds_text(r->best_s) : "");
    }
    row.push_back(decimals(best_peer(results, *ours)->best_s / ours->best_s, 2));
    table.rows.push_back(std::move(row));
  }
  return table;
}

/// For each group: the geometric mean and the worst of (time of the best other library / ours).
Table peer_groups_table(const Results& results) {
  Table table{.columns = {"group", "compared with", "threads", "cases", "geometric mean", "worst"}};
  const std::vector<const Result*> ours = ours_with_peers(results);
  std::set<std::pair<std::string, index_t>> done;
  for (const Result* first : ours) {
    const std::string group = group_of(first->name);
    if (!done.insert({group, first->threads}).second) continue;
    std::set<std::string> with;
    double logs = 0;
    double worst = HUGE_VAL;
    index_t cases = 0;
    for (const Result* r : ours) {
      if (group_of(r->name) != group || r->threads != first->threads) continue;
      for (const Result& other : results.cases) {
        const bool same = other.name == r->name && other.threads == r->threads;
        if (same && other.by != kOurs) with.insert(other.by);
      }
      const double ratio = best_peer(results, *r)->best_s / r->best_s;
      logs += std::log(ratio);
      worst = std::min(worst, ratio);
      ++cases;
    }
    std::string libraries;
    for (const std::string& name : with) libraries += (libraries.empty() ? "" : ", ") + name;
    table.rows.push_back({group, libraries, str_cat(first->threads), str_cat(cases),
                          decimals(std::exp(logs / static_cast<double>(cases)), 2),
                          decimals(worst, 2)});
  }
  return table;
}

/// Every case: times, rates, shares of the peaks, and the error.
Table cases_table(const Results& results) {
  Table table{.columns = {"case", "by", "threads", "best", "median", "spread", "GFLOP/s", "of peak",
                          "GB/s", "memory", "error"}};
  for (const Result& r : results.cases) {
    table.rows.push_back(
        {r.name, r.by, str_cat(r.threads), seconds_text(r.best_s), seconds_text(r.median_s),
         percent(r.spread) + (r.noisy ? ", noisy" : ""), gflops(r), of_peak(r),
         r.bytes > 0 ? digits_text(r.bytes / r.best_s / 1e9, 3) : "",
         r.memory_bytes ? bytes_text(*r.memory_bytes) : "", r.error ? decimals(*r.error, 3) : ""});
  }
  return table;
}

/// Cases with a wrong result, and the error.
Table failures_table(const Results& results) {
  Table table{.columns = {"wrong result, not timed"}};
  for (const std::string& failure : results.failures) table.rows.push_back({failure});
  return table;
}

/// A few cases that represent the library.
Table highlights_table(const Results& results) {
  const index_t threads = most_threads(results);
  Table table{.columns = {"work", "time", "GFLOP/s", "of peak", "best other library / ours"}};
  for (const char* name :
       {"matmul/M:1024/N:1024/K:1024", "linear/M:128/K:768/N:3072/gelu:1",
        "attention/B:1/H:12/T:512/d:64", "softmax/rows:49152/cols:128",
        "encoder/L:6/D:384/H:12/F:1536/B:8/T:128", "encoder/L:12/D:768/H:12/F:3072/B:1/T:128",
        "train/L:2/D:128/H:2/F:512/B:8/T:128"}) {
    const Result* r = find_case(results, name, kOurs, threads);
    if (r == nullptr) continue;
    const Result* peer = best_peer(results, *r);
    table.rows.push_back(
        {str_cat("`", r->name, "`"), seconds_text(r->best_s), gflops(*r), of_peak(*r),
         peer != nullptr ? str_cat(decimals(peer->best_s / r->best_s, 2), " (", peer->by, ")")
                         : ""});
  }
  return table;
}

std::string to_markdown(const Table& table) {
  const auto line = [](const std::vector<std::string>& cells) {
    std::string text = "|";
    for (const std::string& cell : cells) {
      text += " ";
      for (const char c : cell) text += c == '|' ? "\\|" : c == '\n' ? " " : std::string(1, c);
      text += " |";
    }
    return text + "\n";
  };
  std::string text = line(table.columns) + "|";
  for (std::size_t i = 0; i < table.columns.size(); ++i) text += "---|";
  text += "\n";
  for (const std::vector<std::string>& row : table.rows) text += line(row);
  return text;
}

constexpr std::string_view kBegin = "<!-- table: ";
constexpr std::string_view kClose = " -->";
constexpr std::string_view kEnd = "<!-- end of table -->";

/// The position of the first line from `from` on that starts with `marker`; npos: none.
std::size_t marked_line(std::string_view text, std::string_view marker, std::size_t from) {
  std::size_t at = text.find(marker, from);
  while (at != std::string_view::npos && at > 0 && text[at - 1] != '\n') {
    at = text.find(marker, at + 1);
  }
  return at;
}

/// The table of this name; without rows if its cases were not measured.
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

std::string markdown_table(const std::string& name, const Results& results) {
  return to_markdown(table_named(name, results, "markdown_table"));
}

std::string with_tables(std::string_view markdown, const Results& results,
                        const std::string& file) {
  const auto place = [&](std::size_t at) {
    return str_cat(file, ":", std::ranges::count(markdown.substr(0, at), '\n') + 1);
  };
  std::string out;
  std::size_t done = 0;  // the text before `done` is already in `out`
  while (true) {
    const std::size_t begin = marked_line(markdown, kBegin, done);
    const std::size_t first_end = marked_line(markdown, kEnd, done);
    if (first_end < begin) {
      fail_file(place(first_end), "the end of a table must have a beginning, got none");
    }
    if (begin == std::string_view::npos) return out.append(markdown.substr(done));
    std::string_view line = markdown.substr(begin, markdown.find('\n', begin) - begin);
    const std::size_t body = begin + line.size();
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (!line.ends_with(kClose)) fail_file(place(begin), "line must end in '", kClose, "'");
    const std::string name(line.substr(kBegin.size(), line.size() - kBegin.size() - kClose.size()));
    const std::size_t end = marked_line(markdown, kEnd, body);
    if (end == std::string_view::npos || marked_line(markdown, kBegin, body) < end) {
      fail_file(place(begin), "the table '", name, "' must have an end; add '", kEnd, "'");
    }
    const Table table = table_named(name, results, place(end));
    out += markdown.substr(done, body - done);
    out += table.rows.empty() ? std::string(markdown.substr(body, end - body))
                              : "\n\n" + to_markdown(table) + "\n";
    out += kEnd;
    done = end + kEnd.size();
  }
}

}  // namespace tessera::results
