#include "bench/results/results.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>
#include <utility>

#include "tessera/tensor/error.h"

namespace tessera::results {

namespace {

double positive(const Json& json) {
  const double value = json.number();
  if (!(value > 0) || !std::isfinite(value)) {
    json.fail("must be a number above 0, got ", json.described());
  }
  return value;
}

std::optional<double> optional_number(const Json& object, const char* key) {
  const std::optional<Json> found = object.find(key);
  if (!found) return std::nullopt;
  return found->number();
}

Result read_result(const Json& json) {
  Result result;
  result.name = json.text("name");
  result.by = json.text("by", "tessera");
  result.isa = json.text("isa", "");
  result.threads = json.integer("threads", {1, 1 << 20});
  result.best_s = positive(json.at("best_s"));
  result.median_s = json.number("median_s", result.best_s);
  result.spread = json.number("spread", 0.0);
  result.noisy = json.boolean("noisy", false);
  result.flops = json.number("flops", 0.0);
  result.bytes = json.number("bytes", 0.0);
  result.peak_flops = json.number("peak_flops", 0.0);
  result.peak_bytes_s = json.number("peak_bytes_s", 0.0);
  result.error = optional_number(json, "error");
  result.memory_bytes = optional_number(json, "memory_bytes");
  result.label = json.text("label", "");
  return result;
}

Results results_of(const Json& document, const std::string& file) {
  std::vector<Result> cases;
  std::vector<std::string> failures;
  for (const Json& item : document.at("cases").as_list().items()) {
    if (item.has("failure")) {
      failures.push_back(str_cat(item.text("name"), ": ", item.text("failure")));
    } else {
      cases.push_back(read_result(item));
    }
  }
  std::vector<Bandwidth> bandwidth;
  if (const std::optional<Json> levels = document.find("bandwidth")) {
    for (const Json& item : levels->items()) {
      const double bytes_s = positive(item.at("bytes_s"));
      bandwidth.push_back({item.text("level"), item.number("bytes", 0.0), bytes_s});
    }
  }
  Json machine = document.at("machine").as_object();
  return {file,    std::move(machine), std::move(cases), std::move(failures), std::move(bandwidth),
          document};
}

}  // namespace

Results read_results(const std::filesystem::path& path) {
  return results_of(read_json(path), path.string());
}

Results parse_results(std::string_view text, const std::string& file) {
  return results_of(parse_json(text, file), file);
}

std::string merged(const std::vector<Results>& files) {
  require(!files.empty(), "merged", "number of files must be at least 1, got 0");
  std::vector<JsonText> order;
  std::map<std::tuple<std::string, std::string, index_t>, std::pair<double, std::size_t>> seen;
  const Results* first = nullptr;
  const Results* levels = nullptr;
  for (const Results& results : files) {
    if (first == nullptr && results.machine.size() > 0) first = &results;
    if (levels == nullptr && !results.bandwidth.empty()) levels = &results;
    std::size_t i = 0;
    for (const Json& item : results.document.at("cases").items()) {
      if (item.has("failure")) {
        order.emplace_back(item);
        continue;
      }
      const Result& result = results.cases[i++];
      const auto [place, is_new] =
          seen.try_emplace({result.name, result.by, result.threads}, result.best_s, order.size());
      if (is_new) {
        order.emplace_back(item);
      } else if (result.best_s < place->second.first) {
        place->second.first = result.best_s;
        order[place->second.second] = item;
      }
    }
  }
  return JsonObject(JsonSpacing{.between = ",\n"})
             .add("machine", first != nullptr ? JsonText(first->machine) : JsonObject())
             .add("cases", json_list(order, std::identity(), {"\n", ",\n", "\n"}))
             .add("bandwidth",
                  levels != nullptr ? JsonText(levels->document.at("bandwidth")) : JsonList())
             .text() +
         "\n";
}

index_t most_threads(const Results& results) {
  index_t most = 1;
  for (const Result& r : results.cases) {
    if (r.by == "tessera") most = std::max(most, r.threads);
  }
  return most;
}

std::string group_of(const std::string& name) {
  return name.substr(0, name.find('/'));
}

}  // namespace tessera::results
