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
      .add("date", machine.date);
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
  group.add("error", result.error);
  if (result.memory_bytes) group.add("memory_bytes", *result.memory_bytes);
  return group;
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

void write_text(const std::string& path, const std::string& text) {
  write_file(path, {std::as_bytes(std::span(text))});
}

}  // namespace tessera::bench
