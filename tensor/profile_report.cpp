// What a profile says: rows, tables and a trace.
#include <algorithm>
#include <iomanip>
#include <map>
#include <sstream>
#include <tuple>
#include <utility>

#include "tensor/detail/columns.h"
#include "tensor/detail/profile_log.h"
#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/io/json.h"
#include "tensor/profile.h"

namespace tessera {

namespace {

using detail::ProfileLog;
using detail::ProfileNode;
using detail::SpanKind;

double seconds_of(index_t nanoseconds) {
  return static_cast<double>(nanoseconds) * 1e-9;
}

bool is_op(const ProfileNode& node) {
  return node.kind == SpanKind::kForward || node.kind == SpanKind::kBackward;
}

/// "layers.3", or "layers.*".
std::string part_of(const ProfileNode& node, bool is_merged) {
  if (node.number < 0) return node.name;
  return str_cat(node.name, '.', is_merged ? "*" : std::to_string(node.number));
}

/// The path of a module or scope of the log.
std::string module_path_of(const ProfileLog& log, std::uint32_t module, bool is_merged) {
  if (module == 0) return log.path;
  const ProfileNode& node = log.nodes[module];
  const std::string outer = module_path_of(log, node.outer, is_merged);
  return outer.empty() ? part_of(node, is_merged) : outer + '.' + part_of(node, is_merged);
}

/// What rows are merged by: the module, the op and the pass.
using RowKey = std::tuple<std::string, std::string, bool>;

RowKey row_key(const ProfileLog& log, std::uint32_t i, ProfileBy by) {
  const ProfileNode& node = log.nodes[i];
  const bool names_op = by != ProfileBy::kModule && is_op(node);
  return {module_path_of(log, node.module, by == ProfileBy::kMergedOp), names_op ? node.name : "",
          node.is_backward};
}

/// The self time, flops and bytes of each node; of the last two with those of the steps inside.
struct NodeSums {
  explicit NodeSums(const ProfileLog& log) {
    for (const ProfileNode& node : log.nodes) {
      self.push_back(node.time);
      flops.push_back(node.flops);
      bytes.push_back(node.bytes);
    }
    for (std::size_t i = log.nodes.size(); --i > 0;) {  // a step comes after the one around it
      const std::uint32_t parent = log.nodes[i].parent;
      self[parent] -= log.nodes[i].time;
      flops[parent] += flops[i];
      bytes[parent] += bytes[i];
    }
  }

  std::vector<index_t> self;
  std::vector<double> flops, bytes;
};

void add_rows(const ProfileLog& log, ProfileBy by, std::map<RowKey, ProfileRow>& rows) {
  const NodeSums sums(log);
  std::vector<RowKey> keys(1);
  for (std::uint32_t i = 1; i < log.nodes.size(); ++i) {
    const ProfileNode& node = log.nodes[i];
    keys.push_back(row_key(log, i, by));
    ProfileRow& row = rows[keys[i]];
    std::tie(row.module, row.op, row.is_backward) = keys[i];
    row.self += seconds_of(sums.self[i]);
    row.wait += seconds_of(node.wait);
    // A step inside another one of the same row is in its sums already.
    std::uint32_t outer = node.parent;
    while (outer != 0 && keys[outer] != keys[i]) outer = log.nodes[outer].parent;
    if (outer != 0) continue;
    row.calls += node.calls;
    row.total += seconds_of(node.time);
    row.flops += sums.flops[i];
    row.bytes += sums.bytes[i];
  }
}

// ---- tables ----

/// Rows below this share of the wall-clock time are summed up in the last line.
constexpr double kLeastShare = 0.001;

std::string cell(double value, int digits) {
  if (value == 0) return "-";
  std::ostringstream text;
  text.imbue(std::locale::classic());
  text << std::fixed << std::setprecision(digits) << value;
  return text.str();
}

using Cells = std::vector<std::string>;

std::string table_of(const std::vector<ProfileRow>& rows, bool has_ops, double wall,
                     double peak_flops) {
  Cells head = {"module"};
  if (has_ops) head.emplace_back("op");
  head.insert(head.end(), {"pass", "calls", "total ms", "self ms", "% of wall", "GFLOP/s"});
  if (peak_flops > 0) head.emplace_back("% of peak");
  head.insert(head.end(), {"GB/s", "wait ms"});
  std::vector<Cells> lines = {std::move(head)};
  index_t hidden = 0;
  double hidden_time = 0;
  for (const ProfileRow& row : rows) {
    if (row.self < kLeastShare * wall) {
      ++hidden;
      hidden_time += row.self;
      continue;
    }
    const double rate = row.total > 0 ? row.flops / row.total : 0;
    Cells line = {row.module.empty() ? "-" : row.module};
    if (has_ops) line.push_back(row.op.empty() ? "-" : row.op);
    line.insert(line.end(), {row.is_backward ? "backward" : "forward", std::to_string(row.calls),
                             cell(row.total * 1e3, 2), cell(row.self * 1e3, 2),
                             cell(row.self / wall * 100, 1), cell(rate * 1e-9, 1)});
    if (peak_flops > 0) line.push_back(cell(rate / peak_flops * 100, 1));
    line.insert(line.end(), {cell(row.total > 0 ? row.bytes / row.total * 1e-9 : 0, 1),
                             cell(row.wait * 1e3, 2)});
    lines.push_back(std::move(line));
  }
  std::string table = detail::in_columns(lines, has_ops ? 3 : 2);
  if (hidden > 0) {
    table += str_cat(hidden, " rows below 0.1 %: ", cell(hidden_time * 1e3, 2), " ms\n");
  }
  return table;
}

// ---- the trace ----

const char* category_of(const ProfileNode& node) {
  if (node.kind == SpanKind::kScope) return "step";
  if (node.kind == SpanKind::kModule) return "module";
  return node.is_backward ? "backward" : "forward";
}

/// An event without its times, and open: the same for all calls of a node.
std::string event_of(const ProfileLog& log, const ProfileNode& node, std::size_t thread) {
  const char* const pass = node.is_backward ? "backward" : "forward";
  std::string text =
      JsonObject({{"name", part_of(node, false)},
                  {"cat", category_of(node)},
                  {"ph", "X"},
                  {"pid", 1},
                  {"tid", thread},
                  {"args", JsonObject({{"module", module_path_of(log, node.module, false)},
                                       {"pass", pass}})}})
          .text();
  text.pop_back();
  return text;
}

/// Nanoseconds as microseconds.
std::string micro(index_t time) {
  const std::string fraction = std::to_string(1000 + time % 1000);
  return std::to_string(time / 1000) + '.' + fraction.substr(1);
}

void add_events(const ProfileLog& log, std::size_t thread, index_t begin, JsonList& events) {
  std::vector<std::string> texts;
  for (const ProfileNode& node : log.nodes) texts.push_back(event_of(log, node, thread));
  for (const detail::ProfileEvent& event : log.events) {
    events.add(JsonText::written(texts[event.node] + ",\"ts\":" + micro(event.begin - begin) +
                                 ",\"dur\":" + micro(event.time) + '}'));
  }
}

}  // namespace

double Profile::explained() {
  const double all = wall();
  index_t time = 0;
  for (const ProfileNode& node : logs_.front()->nodes) {
    if (node.parent == 0) time += node.time;  // the sum of the self times inside
  }
  return all > 0 ? seconds_of(time) / all : 0;
}

std::vector<ProfileRow> Profile::rows(ProfileBy by) {
  stop();
  std::map<RowKey, ProfileRow> merged;
  for (const auto& log : logs_) add_rows(*log, by, merged);
  std::vector<ProfileRow> rows;
  for (auto& [key, row] : merged) rows.push_back(std::move(row));
  std::ranges::stable_sort(rows, std::ranges::greater(), &ProfileRow::self);
  return rows;
}

std::string Profile::table(double peak_flops) {
  const double all = wall();
  std::string text = str_cat("wall ", cell(all, 3), " s, self times of the main thread ",
                             cell(explained() * 100, 1), " %, threads ", logs_.size(), '\n');
  const auto add = [&](ProfileBy by, bool has_ops) {
    text += '\n' + table_of(rows(by), has_ops, all, peak_flops);
  };
  add(ProfileBy::kMergedOp, true);
  add(ProfileBy::kModule, false);
  return text;
}

void Profile::write_trace(const std::filesystem::path& path) {
  stop();
  JsonList events(kJsonLines);
  for (std::size_t i = 0; i < logs_.size(); ++i) add_events(*logs_[i], i, begin_, events);
  write_text(path,
             JsonObject({{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}}).text());
}

}  // namespace tessera
