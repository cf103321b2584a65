// The roofline of a run.
#include <algorithm>
#include <cmath>
#include <map>

#include "bench/report/report.h"
#include "bench/report/tables.h"
#include "models/pages/chart.h"
#include "models/pages/page.h"
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

/// The roof over [low, high]: up with the bandwidth, level from where the peak is reached.
Series roof(std::string name, double bandwidth, double peak, double low, double high) {
  Series series{.name = std::move(name), .mark = Mark::kGuide};
  const double ridge = peak / bandwidth;
  series.points.push_back({low, std::min(low * bandwidth, peak) / 1e9});
  if (ridge > low && ridge < high) series.points.push_back({ridge, peak / 1e9});
  series.points.push_back({high, std::min(high * bandwidth, peak) / 1e9});
  return series;
}

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
    if (group.ends_with("_ladder") || group == "attention_unfused") continue;
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

}  // namespace

std::string roofline_svg(const Results& results) {
  pages::Chart chart = roofline(results);
  if (chart.series.empty())
    fail_file(results.file, "at least 1 case must have FLOPs and bytes, got none");
  chart.width = 720;
  chart.height = 360;
  std::string legend;
  // The lower right has room: work that is slow though it has many operations a byte is rare.
  double y = 190;
  std::size_t which = 0;
  for (const pages::Series& series : chart.series) {
    if (series.mark == pages::Mark::kGuide) continue;
    legend += str_cat("<g class=\"s", which++ % 8, "\"><circle class=\"dot\" cx=\"580\" cy=\"",
                      y - 4, "\" r=\"4\"/><text x=\"590\" y=\"", y, "\">",
                      pages::escape(series.name), "</text></g>");
    y += 16;
  }
  return pages::chart_svg(chart, legend);
}

}  // namespace tessera::results
