// The roofline of a run.
#include <algorithm>
#include <cmath>
#include <map>

#include "bench/report/report.h"
#include "bench/report/tables.h"
#include "models/pages/chart.h"
#include "models/pages/ranks.h"
#include "tensor/error.h"

namespace tessera::results {

namespace {

using pages::Chart;
using pages::Mark;
using pages::Scale;
using pages::Series;

double middle_of_peaks(const Results& results, index_t threads) {
  std::vector<double> peaks;
  for (const Result& r : results.cases) {
    if (r.threads == threads && r.by == "tessera" && r.peak_flops > 0)
      peaks.push_back(r.peak_flops);
  }
  return peaks.empty() ? 0 : pages::median(std::move(peaks));
}

/// "40 GB/s".
std::string giga(double per_second, const char* unit) {
  return str_cat(std::llround(per_second / 1e9), " G", unit);
}

/// The line of a bandwidth up to the peak, from `low` or where it reaches `least` FLOP/s.
Series slope(const Bandwidth& of, double peak, double low, double least) {
  const double ridge = peak / of.bytes_s;
  const double begin = std::max(low, least / of.bytes_s);
  const double named = begin * std::pow(ridge / begin, 0.4);
  const std::string name = of.level + " " + giga(of.bytes_s, "B/s");
  return {.name = name,
          .points = {{begin, begin * of.bytes_s / 1e9},
                     {named, named * of.bytes_s / 1e9, name},
                     {ridge, peak / 1e9}},
          .mark = Mark::kGuide};
}

/// Adds the roofs: up with each bandwidth, level at the peak.
void add_roofs(Chart& chart, const Results& results) {
  const double peak = middle_of_peaks(results, most_threads(results));
  if (peak == 0) return;
  std::vector<Bandwidth> shown;
  std::vector<double> intensities;
  for (const Bandwidth& b : results.bandwidth) {
    if (b.level != "memory" && b.level != "L2") continue;
    shown.push_back(b);
    intensities.push_back(peak / b.bytes_s);
  }
  const double ridge = intensities.empty() ? HUGE_VAL : std::ranges::min(intensities);
  double least = peak;
  for (const Series& series : chart.series) {
    for (const pages::ChartPoint& point : series.points) {
      intensities.push_back(point.x);
      least = std::min(least, point.y * 1e9);
    }
  }
  const auto [low, high] = std::ranges::minmax(intensities);
  for (const Bandwidth& b : shown) chart.series.push_back(slope(b, peak, low / 3, least));
  const double begin = shown.empty() ? low : ridge;
  const std::string name = "peak " + giga(peak, "FLOP/s");
  chart.series.push_back({.name = name,
                          .points = {{begin, peak / 1e9},
                                     {begin * std::pow(high / begin, 0.8), peak / 1e9, name},
                                     {high, peak / 1e9}},
                          .mark = Mark::kGuide});
}

Chart roofline(const Results& results) {
  const index_t threads = most_threads(results);
  Chart chart;
  chart.title = "Roofline";
  chart.x = {.label = "FLOPs per byte", .scale = Scale::kLog10};
  chart.y = {.label = "GFLOP/s", .scale = Scale::kLog10};
  std::map<std::string, std::size_t> places;
  for (const Result& r : results.cases) {
    if (r.by != "tessera" || r.threads != threads || r.flops <= 0 || r.bytes <= 0) continue;
    const std::string group = group_of(r.name);
    // These are only there to be compared: with each other, and with attention.
    if (group.ends_with("_ladder") || group == "attention_unfused") continue;
    const auto [place, is_new] = places.try_emplace(group, chart.series.size());
    if (is_new) chart.series.push_back({.name = group, .mark = Mark::kDots});
    chart.series[place->second].points.push_back({r.flops / r.bytes, r.flops_s() / 1e9});
  }
  if (chart.series.empty()) return chart;
  add_roofs(chart, results);
  chart.description = str_cat(
      "FLOP/s of each case over its FLOPs per byte, on ", threads,
      " threads. A case that reads from memory lies below the line of memory; a case whose data is "
      "in a cache may lie above.");
  return chart;
}

}  // namespace

std::string roofline_svg(const Results& results) {
  pages::Chart chart = roofline(results);
  if (chart.series.empty())
    fail_file(results.file, "at least 1 case must have FLOPs and bytes, got none");
  chart.width = 720;
  chart.height = 360;
  chart.legend = 110;
  return pages::chart_svg(chart);
}

}  // namespace tessera::results
