#include "bench/output.h"

#include <cmath>

#include "bench/results/units.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/format.h"
#include "tessera/tensor/io/json.h"

namespace tessera::bench {

namespace {

// ---- JSON ----

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

// ---- the table ----

constexpr std::size_t kName = 46;

std::string right(const std::string& text, std::size_t width) {
  return (text.size() < width ? std::string(width - text.size(), ' ') : "") + text;
}

std::string left(const std::string& text, std::size_t width) {
  return text + (text.size() < width ? std::string(width - text.size(), ' ') : "");
}

std::string percent(double part, double whole) {
  return whole > 0 && part > 0 ? decimals(100 * part / whole, 0) + "%" : "";
}

/// Padded so that seconds are as wide as the other units.
std::string time(double seconds) {
  const std::string text = results::seconds_text(seconds, 4);
  return text.ends_with(" s") ? text + " " : text;
}

std::string rate(double value) {
  return std::isfinite(value) && value > 0 ? results::scaled_text(value) : "";
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

std::string table_head() {
  return left("name", kName) + right("best", 10) + right("median", 10) + right("spread", 8) +
         right("calls", 8) + right("FLOP/s", 9) + right("of peak", 8) + right("byte/s", 9) +
         right("of mem", 8) + right("GHz", 6) + right("memory", 9) + right("error", 7) + "\n";
}

std::string table_row(const Result& r) {
  const std::string by = r.by == "tessera" ? "" : " (" + r.by + ")";
  std::string row = left(r.name + by, kName);
  if (!r.failure.empty()) return row + " " + r.failure + "\n";
  row += right(time(r.best_s), 10) + right(time(r.median_s), 10) + right(percent(r.spread, 1), 8) +
         right(std::to_string(r.calls), 8) + right(rate(r.flops_s()), 9) +
         right(percent(r.flops_s(), r.peak_flops), 8) + right(rate(r.bytes_s()), 9) +
         right(percent(r.bytes_s(), r.peak_bytes_s), 8) +
         right(r.ghz > 0 ? decimals(r.ghz, 2) : "", 6) +
         right(r.memory_bytes ? results::scaled_text(*r.memory_bytes) + "B" : "", 9) +
         right(decimals(r.error.value_or(0), 2), 7);
  if (r.noisy) row += "  noisy";
  if (!r.label.empty()) row += "  " + r.label;
  return row + "\n";
}

}  // namespace tessera::bench
