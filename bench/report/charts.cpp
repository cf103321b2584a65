#include "bench/report/charts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <set>

#include "bench/report/tables.h"
#include "bench/results/ranks.h"
#include "tensor/error.h"

namespace tessera::results {

namespace {

using pages::Chart;
using pages::ChartPoint;
using pages::Mark;
using pages::Scale;
using pages::Series;

/// A chart's x for a case; nothing where the case is not on it.
using Place = std::function<std::optional<double>(const Result&)>;

/// A line for each library.
std::vector<Series> by_library(const Results& results, index_t threads, const Place& place) {
  std::vector<Series> series;
  for (const Result& r : results.cases) {
    const std::optional<double> x = place(r);
    if (!x || r.threads != threads || r.flops <= 0) continue;
    auto found =
        std::find_if(series.begin(), series.end(), [&](const Series& s) { return s.name == r.by; });
    if (found == series.end()) {
      found = series.insert(series.end(), {.name = r.by, .mark = Mark::kLineAndDots});
    }
    found->points.push_back({*x, r.flops_s() / 1e9});
  }
  for (Series& s : series) {
    std::sort(s.points.begin(), s.points.end(),
              [](const ChartPoint& a, const ChartPoint& b) { return a.x < b.x; });
  }
  return series;
}

Chart chart_over(std::string title, std::string label, const Results& results, const Place& place) {
  const index_t threads = most_threads(results);
  Chart chart;
  chart.title = std::move(title);
  chart.description = str_cat(chart.title, " in GFLOP/s, on ", threads, " threads.");
  chart.x = {.label = std::move(label), .scale = Scale::kLog10};
  chart.y = {.label = "GFLOP/s", .low = 0};
  chart.series = by_library(results, threads, place);
  std::set<double> ticks;
  for (const Series& s : chart.series) {
    for (const ChartPoint& p : s.points) ticks.insert(p.x);
  }
  if (ticks.size() <= 8) chart.x.ticks.assign(ticks.begin(), ticks.end());
  return chart;
}

double middle_of_peaks(const Results& results, index_t threads) {
  std::vector<double> peaks;
  for (const Result& r : results.cases) {
    if (r.threads == threads && r.by == "tessera" && r.peak_flops > 0)
      peaks.push_back(r.peak_flops);
  }
  return peaks.empty() ? 0 : median(std::move(peaks));
}

/// The roof over [low, high]: up with the bandwidth, level from where the peak is reached.
Series roof(std::string name, double bandwidth, double peak, double low, double high) {
  Series series{.name = std::move(name), .mark = Mark::kGuide};
  const double ridge = peak / bandwidth;
  series.points.push_back({low, std::min(low * bandwidth, peak) / 1e9});
  if (ridge > low && ridge < high) series.points.push_back({ridge, peak / 1e9});
  series.points.push_back({high, std::min(high * bandwidth, peak) / 1e9});
  return series;
}

}  // namespace

Chart roofline(const Results& results) {
  const index_t threads = most_threads(results);
  Chart chart;
  chart.title = "Roofline";
  chart.x = {.label = "FLOPs per byte", .scale = Scale::kLog10};
  chart.y = {.label = "GFLOP/s", .scale = Scale::kLog10};
  std::map<std::string, std::size_t> places;
  double low = HUGE_VAL;
  double high = 0;
  for (const Result& r : results.cases) {
    if (r.by != "tessera" || r.threads != threads || r.flops <= 0 || r.bytes <= 0) continue;
    const std::string group = group_of(r.name);
    // These have pictures and tables of their own.
    if (group.find("ladder") != std::string::npos || group == "linear_width") continue;
    if (group == "attention_fused" || group == "attention_unfused") continue;
    const auto [place, is_new] = places.try_emplace(group, chart.series.size());
    if (is_new) chart.series.push_back({.name = group, .mark = Mark::kDots});
    const double intensity = r.flops / r.bytes;
    low = std::min(low, intensity);
    high = std::max(high, intensity);
    chart.series[place->second].points.push_back({intensity, r.flops_s() / 1e9});
  }
  if (chart.series.empty()) return chart;
  const double peak = middle_of_peaks(results, threads);
  for (const Bandwidth& b : results.bandwidth) {
    if (peak > 0 && (b.level == "memory" || b.level == "L2")) {
      chart.series.push_back(roof("roof of " + b.level, b.bytes_s, peak, low / 1.5, high * 1.5));
    }
  }
  chart.description = str_cat(
      "Speed of every case over the operations it makes of each byte, on ", threads,
      " threads. No case that reads from memory can lie above the roof of memory; one whose "
      "data is in a cache can.");
  return chart;
}

std::vector<Chart> over_size(const Results& results) {
  std::vector<Chart> charts;
  charts.push_back(chart_over(
      "Square products", "M = N = K", results, [](const Result& r) -> std::optional<double> {
        const auto m = size_in(r.name, "M");
        const bool square = m && m == size_in(r.name, "N") && m == size_in(r.name, "K");
        const bool plain = group_of(r.name) == "matmul" && !size_in(r.name, "B") &&
                           r.name.find("dtype") == std::string::npos;
        return square && plain ? m : std::nullopt;
      }));
  charts.push_back(chart_over(
      "Attention, 12 heads of 64", "tokens", results, [](const Result& r) -> std::optional<double> {
        const bool plain = r.name.starts_with("attention/B:1/H:12/") && r.name.ends_with("/d:64");
        return plain ? size_in(r.name, "T") : std::nullopt;
      }));
  std::erase_if(charts, [](const Chart& chart) { return chart.series.empty(); });
  return charts;
}

Chart over_threads(const Results& results) {
  Chart chart;
  chart.title = "Speed over threads";
  chart.description = "How many times as fast as on one thread; the guide is as many as threads.";
  chart.x = {.label = "threads", .whole = true};
  chart.y = {.label = "times", .low = 0};
  std::set<double> counts;
  for (const Result& one : results.cases) {
    if (one.by != "tessera" || one.threads != 1 || chart.series.size() == 8) continue;
    const std::string group = group_of(one.name);
    if (group.find("ladder") != std::string::npos) continue;
    const auto drawn = [&](const Series& s) { return group_of(s.name) == group; };
    if (std::any_of(chart.series.begin(), chart.series.end(), drawn)) continue;
    Series series{.name = one.name, .points = {{1, 1}}, .mark = Mark::kLineAndDots};
    for (const Result& r : results.cases) {
      if (r.name != one.name || r.by != one.by || r.threads == 1) continue;
      series.points.push_back({static_cast<double>(r.threads), one.best_s / r.best_s});
    }
    if (series.points.size() < 2) continue;
    for (const ChartPoint& p : series.points) counts.insert(p.x);
    chart.series.push_back(std::move(series));
  }
  if (chart.series.empty()) return chart;
  chart.x.ticks.assign(counts.begin(), counts.end());
  const double most = *counts.rbegin();
  chart.y.high = most;
  chart.series.push_back(
      {.name = "all threads count", .points = {{1, 1}, {most, most}}, .mark = Mark::kGuide});
  return chart;
}

Chart ladder(const Results& results, const std::string& name, const std::string& title) {
  Chart chart;
  chart.title = title;
  chart.description = "GFLOP/s of each step, from the definition to the library.";
  chart.x = {.label = "step", .whole = true};
  chart.y = {.label = "GFLOP/s", .scale = Scale::kLog10};
  std::map<index_t, Series> by_threads;
  for (const Result& r : results.cases) {
    const std::optional<double> step = size_in(r.name, "step");
    if (group_of(r.name) != name || !step || r.flops <= 0) continue;
    Series& series = by_threads[r.threads];
    series.mark = Mark::kLineAndDots;
    series.name = str_cat(r.threads, r.threads == 1 ? " thread" : " threads");
    series.points.push_back({*step, r.flops_s() / 1e9});
  }
  for (auto& [threads, series] : by_threads) chart.series.push_back(std::move(series));
  return chart;
}

Chart cliffs(const Results& results) {
  Chart chart;
  chart.title = "Layers of 512 rows, width by width";
  chart.description = "GFLOP/s of linear layers: neighbouring widths should cost alike.";
  chart.x = {.label = "width"};
  chart.y = {.label = "GFLOP/s", .low = 0};
  for (Series& series : by_library(results, most_threads(results), [](const Result& r) {
         return group_of(r.name) == "linear_width" ? size_in(r.name, "N") : std::nullopt;
       })) {
    series.mark = Mark::kLine;
    chart.series.push_back(std::move(series));
  }
  return chart;
}

}  // namespace tessera::results
