#include "bench/records.h"

#include <cmath>

#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/io/json.h"
#include "tensor/number_format.h"

namespace tessera::bench {

namespace {

/// An object or a list of JSON as it grows.
class Group {
 public:
  explicit Group(char open) : text_(1, open) {}

  Group& raw(const std::string& json) {
    text_ += (text_.size() > 1 ? "," : "") + json;
    return *this;
  }
  Group& add(const char* key, const std::string& value) {
    return raw(json_quoted(key) + ":" + json_quoted(value));
  }
  Group& add(const char* key, const char* value) { return add(key, std::string(value)); }
  Group& add(const char* key, index_t value) {
    return raw(json_quoted(key) + ":" + std::to_string(value));
  }
  Group& add(const char* key, bool value) {
    return raw(json_quoted(key) + (value ? ":true" : ":false"));
  }
  Group& add(const char* key, double value) {
    return std::isfinite(value) ? raw(json_quoted(key) + ":" + format_scalar(value)) : *this;
  }
  /// Nothing where the figure is 0, that is unknown.
  Group& add_known(const char* key, double value) { return value != 0 ? add(key, value) : *this; }
  Group& add(const char* key, const Group& group, char close) {
    return raw(json_quoted(key) + ":" + group.text_ + close);
  }
  std::string closed(char close) const { return text_ + close; }

 private:
  std::string text_;
};

Group group_of(const Figures& figures) {
  Group group('{');
  for (const auto& [name, value] : figures) group.add(name.c_str(), value);
  return group;
}

Group group_of(const Machine& machine) {
  Group levels('[');
  for (const CacheLevel& cache : machine.caches) {
    levels.raw(Group('{')
                   .add("level", cache.level)
                   .add("kind", cache.kind)
                   .add("bytes", cache.bytes)
                   .add("shared_by", cache.shared_by)
                   .closed('}'));
  }
  Group group('{');
  group.add("cpu", machine.cpu)
      .add("sockets", machine.sockets)
      .add("cores", machine.cores)
      .add("caches", levels, ']')
      .add("isa", machine.isa)
      .add("threads", machine.threads)
      .add("compiler", machine.compiler)
      .add("flags", machine.flags)
      .add("commit", machine.commit)
      .add("version", machine.version)
      .add("affinity", machine.affinity)
      .add("governor", machine.governor)
      .add("load", machine.load)
      .add("os", machine.os)
      .add("date", machine.date)
      .add("counters", machine.counters);
  return group;
}

void add_times(const Result& result, Group& group) {
  Group samples('[');
  for (const double seconds : result.samples) samples.raw(format_scalar(seconds));
  group.add("calls", result.calls)
      .add("best_s", result.best)
      .add("median_s", result.median)
      .add("spread", result.spread)
      .add("noisy", result.noisy)
      .add("samples_s", samples, ']');
}

Group group_of(const Result& result) {
  Group group('{');
  group.add("name", result.name)
      .add("by", result.by)
      .add("threads", index_t{result.threads})
      .add("isa", result.isa)
      .add("dtype", name(result.cost.dtype));
  if (!result.label.empty()) group.add("label", result.label);
  if (!result.failure.empty()) return group.add("failure", result.failure);
  add_times(result, group);
  group.add("flops", result.cost.flops).add("bytes", result.cost.bytes);
  if (result.cost.bytes > 0) group.add("intensity", result.cost.flops / result.cost.bytes);
  group.add_known("peak_flops", result.peak_flops)
      .add_known("peak_bytes_s", result.peak_bandwidth)
      .add_known("ghz", result.ghz);
  if (result.figures.empty()) group.add("error", result.error);
  if (result.memory_bytes) group.add("memory_bytes", *result.memory_bytes);
  if (!result.counters.empty()) group.add("counters", group_of(result.counters), '}');
  if (!result.figures.empty()) group.add("figures", group_of(result.figures), '}');
  return group;
}

/// Text for a field of CSV: in quotes where it must be. **Source**: RFC 4180.
std::string csv_field(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string quoted = "\"";
  for (const char letter : text) quoted += letter == '"' ? "\"\"" : std::string(1, letter);
  return quoted + '"';
}

std::string known(double value) {
  return value != 0 && std::isfinite(value) ? format_scalar(value) : "";
}

}  // namespace

std::string to_json(const Run& run) {
  Group cases('[');
  for (const Result& result : run.results) cases.raw("\n" + group_of(result).closed('}'));
  Group levels('[');
  for (const LevelBandwidth& level : run.bandwidths) {
    levels.raw("\n" + Group('{')
                          .add("level", level.level)
                          .add("bytes", level.bytes)
                          .add("bytes_s", level.bytes_per_second)
                          .closed('}'));
  }
  return Group('{')
             .add("machine", group_of(run.machine), '}')
             .add("cases", cases, ']')
             .add("bandwidth", levels, ']')
             .closed('}') +
         "\n";
}

std::string to_csv(const Run& run) {
  std::string text =
      "name,by,dtype,threads,isa,calls,best_s,median_s,spread,noisy,flops,bytes,flops_s,bytes_s,"
      "peak_flops,peak_bytes_s,ghz,error,memory_bytes,failure\n";
  for (const Result& r : run.results) {
    text += csv_field(r.name) + "," + csv_field(r.by) + "," + name(r.cost.dtype) + "," +
            std::to_string(r.threads) + "," + r.isa + "," + std::to_string(r.calls);
    const bool timed = r.failure.empty();
    for (const double value :
         {r.best, r.median, r.spread, timed && r.noisy ? 1.0 : 0.0, r.cost.flops, r.cost.bytes,
          timed ? r.flops_per_second() : 0, timed ? r.bytes_per_second() : 0, r.peak_flops,
          r.peak_bandwidth, r.ghz, r.error}) {
      text += "," + known(value);
    }
    text += "," + (r.memory_bytes ? std::to_string(*r.memory_bytes) : "") + "," +
            csv_field(r.failure) + "\n";
  }
  return text;
}

void write_text(const std::string& path, const std::string& text) {
  write_file(path, {std::as_bytes(std::span(text))});
}

}  // namespace tessera::bench
