// The reports of a profile: rows, tables and a trace.
#include <algorithm>
#include <map>
#include <span>
#include <tuple>
#include <utility>

#include "tensor/detail/profile_log.h"
#include "tensor/error.h"
#include "tensor/format.h"
#include "tensor/io/file.h"
#include "tensor/io/json.h"
#include "tensor/kernels/parallel.h"
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
    row.thread_time += seconds_of(node.thread_time);
    row.flops += sums.flops[i];
    row.bytes += sums.bytes[i];
  }
}

// ---- tables ----

/// Rows below this share of the wall-clock time are summed up in the last line.
constexpr double kLeastShare = 0.001;

/// part / whole * scale, with `digits` digits after the point; "-" if a number is missing.
std::string ratio(double part, double whole, double scale = 1, int digits = 1) {
  if (part == 0 || whole <= 0) return "-";
  return decimals(part / whole * scale, digits);
}

std::string milliseconds(double seconds) {
  return ratio(seconds, 1, 1e3, 2);
}

// ---- the trace ----

const char* category_of(const ProfileNode& node) {
  if (node.kind == SpanKind::kScope) return "step";
  if (node.kind == SpanKind::kModule) return "module";
  return node.is_backward ? "backward" : "forward";
}

/// An event without its times, and not closed: the same text for all calls of a node.
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
  for (const detail::ProfileEvent& event : std::span(log.events.get(), log.event_count)) {
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

const MachineSpeed& Profile::machine() {
  stop();
  if (!machine_) machine_ = measure_machine();
  return *machine_;
}

std::vector<std::vector<std::string>> Profile::cells(ProfileBy by) {
  std::vector<std::vector<std::string>> lines = {{"module", "op", "pass", "calls", "total ms",
                                                  "self ms", "% of wall", "GFLOP/s", "% of peak",
                                                  "GB/s", "% of bandwidth", "wait ms"}};
  index_t hidden = 0;
  double hidden_time = 0;
  for (const ProfileRow& row : rows(by)) {
    if (row.self < kLeastShare * wall()) {
      ++hidden;
      hidden_time += row.self;
      continue;
    }
    lines.push_back({row.module.empty() ? "outside modules" : row.module,
                     row.op.empty() ? "-" : row.op, row.is_backward ? "backward" : "forward",
                     std::to_string(row.calls), milliseconds(row.total), milliseconds(row.self),
                     ratio(row.self, wall(), 100), ratio(row.flops, row.total, 1e-9),
                     ratio(row.flops, row.thread_time * machine().flops, 100),
                     ratio(row.bytes, row.total, 1e-9),
                     ratio(row.bytes, row.thread_time * machine().bytes, 100),
                     milliseconds(row.wait)});
  }
  if (hidden > 0) {
    lines.push_back({str_cat(hidden, " rows below 0.1 %"), "-", "-", "-", "-",
                     milliseconds(hidden_time), ratio(hidden_time, wall(), 100)});
    lines.back().resize(lines[0].size(), "-");
  }
  if (by == ProfileBy::kModule) {
    for (auto& line : lines) line.erase(line.begin() + 1);
  }
  return lines;
}

std::string Profile::summary() {
  return str_cat("wall ", ratio(wall(), 1, 1, 3), " s, self times of the main thread ",
                 ratio(explained(), 1, 100), " %, threads ", thread_count(), ", steps in ",
                 logs_.size());
}

std::string Profile::table() {
  return summary() + "\n\n" + in_columns(cells(ProfileBy::kMergedOp), 3) + '\n' +
         in_columns(cells(ProfileBy::kModule), 2);
}

void Profile::write_trace(const std::filesystem::path& path) {
  stop();
  JsonList events(kJsonLines);
  for (std::size_t i = 0; i < logs_.size(); ++i) add_events(*logs_[i], i, begin_, events);
  write_text(path,
             JsonObject({{"traceEvents", std::move(events)}, {"displayTimeUnit", "ms"}}).text());
}

}  // namespace tessera
