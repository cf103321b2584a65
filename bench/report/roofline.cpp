// The roofline of a run.
#include <algorithm>
#include <cmath>
#include <map>

#include "bench/report/report.h"
#include "tessera/models/pages/chart.h"
#include "tessera/models/pages/ranks.h"
#include "tessera/tensor/error.h"

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

/// A line from one intensity to another, with its name after the fraction `place` of the way.
template <class Speed>
Series roof(const std::string& name, double begin, double end, double place, const Speed& flops_s) {
  const double named = begin * std::pow(end / begin, place);
  return {.name = name,
          .points = {{begin, flops_s(begin) / 1e9},
                     {named, flops_s(named) / 1e9, name},
                     {end, flops_s(end) / 1e9}},
          .mark = Mark::kGuide};
}

/// Adds the roofs: up with each bandwidth, level at the peak.
void add_roofs(Chart& chart, const Results& results) {
  const double peak = middle_of_peaks(results, most_threads(results));
  if (peak == 0) return;
  std::vector<Bandwidth> shown = results.bandwidth;
  std::erase_if(shown, [](const Bandwidth& b) { return b.level != "memory" && b.level != "L2"; });
  std::vector<double> intensities;
  for (const Bandwidth& b : shown) intensities.push_back(peak / b.bytes_s);
  double ridge = shown.empty() ? HUGE_VAL : std::ranges::min(intensities);
  double least = peak;
  for (const Series& series : chart.series) {
    for (const pages::ChartPoint& point : series.points) {
      intensities.push_back(point.x);
      least = std::min(least, point.y * 1e9);
    }
  }
  const auto [low, high] = std::ranges::minmax(intensities);
  for (const Bandwidth& b : shown) {
    const double begin = std::max(low / 3, least / b.bytes_s);
    chart.series.push_back(roof(b.level + " " + giga(b.bytes_s, "B/s"), begin, peak / b.bytes_s,
                                0.4, [&](double intensity) { return intensity * b.bytes_s; }));
  }
  if (shown.empty()) ridge = low;
  chart.series.push_back(
      roof("peak " + giga(peak, "FLOP/s"), ridge, high, 0.8, [&](double) { return peak; }));
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
