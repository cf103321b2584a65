// The reports of a profile: rows, tables and a trace.
#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "tessera/tensor/detail/profile_log.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/format.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/io/json.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/profile.h"

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

/// The key of a row: the module, the op and the pass.
using RowKey = std::tuple<std::string, std::string, bool>;

RowKey row_key(const ProfileLog& log, std::uint32_t i, ProfileBy by) {
  const ProfileNode& node = log.nodes[i];
  const bool names_op = by != ProfileBy::kModule && is_op(node);
  return {module_path_of(log, node.module, by == ProfileBy::kMergedOp), names_op ? node.name : "",
          node.is_backward};
}

/// The self time, flops and bytes of each node; flops and bytes include inner steps.
struct NodeSums {
  explicit NodeSums(const std::vector<ProfileNode>& nodes)
      : self(nodes.size()), flops(nodes.size()), bytes(nodes.size()) {
    for (std::size_t i = nodes.size(); --i > 0;) {  // a step comes after the one that contains it
      const ProfileNode& node = nodes[i];
      self[i] += node.time;
      flops[i] += node.flops;
      // An op whose work was not counted moves at least its arguments.
      bytes[i] = node.bytes > 0 ? bytes[i] + node.bytes : std::max(bytes[i], node.arguments);
      self[node.parent] -= node.time;
      flops[node.parent] += flops[i];
      bytes[node.parent] += bytes[i];
    }
  }

  std::vector<index_t> self;
  std::vector<double> flops, bytes;
};

void add_rows(const ProfileLog& log, ProfileBy by, std::map<RowKey, ProfileRow>& rows) {
  const NodeSums sums(log.nodes);
  std::vector<RowKey> keys(1);
  for (std::uint32_t i = 1; i < log.nodes.size(); ++i) {
    const ProfileNode& node = log.nodes[i];
    keys.push_back(row_key(log, i, by));
    ProfileRow& row = rows[keys[i]];
    std::tie(row.module, row.op, row.is_backward) = keys[i];
    row.self += seconds_of(sums.self[i]);
    row.wait += seconds_of(node.wait);
    // If a step is inside another one of the same row, that one's sums already include it.
    std::uint32_t outer = node.parent;
    while (outer != 0 && keys[outer] != keys[i]) outer = log.nodes[outer].parent;
    if (outer != 0) continue;
    row.calls += node.calls;
    row.total += seconds_of(node.time);
    row.flops += sums.flops[i];
    row.bytes += sums.bytes[i];
  }
}

/// part / whole * scale, with `digits` digits after the point; "-" if a number is missing.
std::string ratio(double part, double whole, double scale = 1, int digits = 1) {
  if (part == 0 || whole <= 0) return "-";
  return decimals(part / whole * scale, digits);
}

std::string milliseconds(double seconds) {
  return ratio(seconds, 1, 1e3, 2);
}

/// A heading, then the rows; those below 0.1 % of the wall-clock time are summed up in the last
/// line.
std::string table_of(const std::vector<ProfileRow>& rows, double wall, bool has_ops) {
  std::vector<std::vector<std::string>> lines;
  const auto add = [&](std::vector<std::string> line) {
    if (!has_ops) line.erase(line.begin() + 1);
    lines.push_back(std::move(line));
  };
  add({"module", "op", "pass", "calls", "total ms", "self ms", "% of wall", "GFLOP/s", "GB/s",
       "wait ms"});
  index_t hidden = 0;
  double hidden_time = 0;
  for (const ProfileRow& row : rows) {
    if (row.self < 0.001 * wall) {
      ++hidden;
      hidden_time += row.self;
      continue;
    }
    add({row.module.empty() ? "outside modules" : row.module, row.op.empty() ? "-" : row.op,
         row.is_backward ? "backward" : "forward", std::to_string(row.calls),
         milliseconds(row.total), milliseconds(row.self), ratio(row.self, wall, 100),
         ratio(row.flops, row.total, 1e-9), ratio(row.bytes, row.total, 1e-9),
         milliseconds(row.wait)});
  }
  if (hidden > 0) {
    add({str_cat(hidden, " rows below 0.1 %"), "-", "-", "-", "-", milliseconds(hidden_time),
         ratio(hidden_time, wall, 100), "-", "-", "-"});
  }
  return in_columns(lines, has_ops ? 3 : 2);
}

const char* category_of(const ProfileNode& node) {
  if (node.kind == SpanKind::kScope) return "step";
  if (node.kind == SpanKind::kModule) return "module";
  return node.is_backward ? "backward" : "forward";
}

/// An event of the trace without its times: the same for all calls of a node.
JsonObject event_of(const ProfileLog& log, const ProfileNode& node, std::size_t thread) {
  return {{"name", part_of(node, false)},
          {"cat", category_of(node)},
          {"ph", "X"},
          {"pid", 1},
          {"tid", thread},
          {"args", JsonObject({{"module", module_path_of(log, node.module, false)},
                               {"pass", node.is_backward ? "backward" : "forward"}})}};
}

void add_events(const ProfileLog& log, std::size_t thread, index_t begin, JsonList& events) {
  const auto microseconds = [](index_t time) {
    return JsonText::written(decimals(static_cast<double>(time) * 1e-3, 3));
  };
  std::vector<JsonObject> nodes;
  for (const ProfileNode& node : log.nodes) nodes.push_back(event_of(log, node, thread));
  for (const detail::ProfileEvent& event : std::span(log.events.get(), log.event_count)) {
    JsonObject whole = nodes[event.node];
    whole.add("ts", microseconds(event.begin - begin)).add("dur", microseconds(event.time));
    events.add(whole);
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

std::string Profile::table() {
  return str_cat("wall ", ratio(wall(), 1, 1, 3), " s, self times of the main thread ",
                 ratio(explained(), 1, 100), " %, threads ", thread_count(), ", steps in ",
                 logs_.size(), "\n\n", table_of(rows(ProfileBy::kMergedOp), wall(), true), '\n',
                 table_of(rows(ProfileBy::kModule), wall(), false));
}

void Profile::write_trace(const std::filesystem::path& path) {
  stop();
  JsonList events(kJsonLines);
  for (std::size_t i = 0; i < logs_.size(); ++i) add_events(*logs_[i], i, begin_, events);
  write_text(path,
             JsonObject({{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}}).text());
}

}  // namespace tessera
