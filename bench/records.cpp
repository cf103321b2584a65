#include "bench/records.h"

#include <cmath>

#include "tensor/format.h"
#include "tensor/io/json.h"

namespace tessera::bench {

namespace {

/// A number with a point.
JsonText number(double value) {
  return JsonText::written(format_scalar(value));
}
/// Adds nothing if the value is not finite.
void add(JsonObject& object, const char* key, double value) {
  if (std::isfinite(value)) object.add(key, number(value));
}
/// Adds nothing if the value is 0, which means unknown.
void add_known(JsonObject& object, const char* key, double value) {
  if (value != 0) add(object, key, value);
}

void add_times(const Result& result, JsonObject& object) {
  object.add("calls", result.calls);
  add(object, "best_s", result.best_s);
  add(object, "median_s", result.median_s);
  add(object, "spread", result.spread);
  object.add("noisy", result.noisy);
}

JsonObject object_of(const Result& result) {
  JsonObject object = {{"name", result.name},
                       {"by", result.by},
                       {"threads", result.threads},
                       {"isa", result.isa},
                       {"dtype", result.dtype}};
  if (!result.label.empty()) object.add("label", result.label);
  if (!result.failure.empty()) return object.add("failure", result.failure);
  add_times(result, object);
  add(object, "flops", result.flops);
  add(object, "bytes", result.bytes);
  if (result.bytes > 0) add(object, "intensity", result.flops / result.bytes);
  add_known(object, "peak_flops", result.peak_flops);
  add_known(object, "peak_bytes_s", result.peak_bytes_s);
  add_known(object, "ghz", result.ghz);
  add(object, "error", result.error.value_or(NAN));
  if (result.memory_bytes) {
    object.add("memory_bytes", static_cast<index_t>(*result.memory_bytes));
  }
  return object;
}

JsonObject object_of(const results::Bandwidth& level) {
  JsonObject object = {{"level", level.level}, {"bytes", static_cast<index_t>(level.bytes)}};
  add(object, "bytes_s", level.bytes_s);
  return object;
}

}  // namespace

std::string to_json(const Run& run) {
  constexpr JsonSpacing kRows = {"\n", ",\n"};
  const auto object = [](const auto& each) { return object_of(each); };
  return JsonObject({{"machine", run.machine},
                     {"cases", json_list(run.results, object, kRows)},
                     {"bandwidth", json_list(run.bandwidths, object, kRows)}})
             .text() +
         "\n";
}

}  // namespace tessera::bench
