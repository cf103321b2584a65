#include "models/pages/detail/plot.h"

#include <array>
#include <cmath>

#include "models/pages/page.h"
#include "tensor/error.h"

namespace tessera::pages {

namespace {

constexpr std::size_t kMostDrawn = 450;  // points of a series: more than a screen can tell apart
constexpr int kTicksY = 6;
constexpr double kCharacter = 7.5;  // the width of a digit, at most

int ticks_x(const Chart& chart) {
  return chart.width < 450 ? 5 : 7;
}

/// The values of all points.
std::vector<double> values_of(const Chart& chart, double ChartPoint::*member) {
  std::vector<double> values;
  for (const Series& series : chart.series) {
    for (const ChartPoint& point : series.points) values.push_back(point.*member);
  }
  return values;
}

std::vector<Look> looks_of(const Chart& chart) {
  std::vector<std::string> groups, members;
  const auto place = [](std::vector<std::string>& names, const std::string& name) {
    const auto found = std::ranges::find(names, name);
    const auto number = static_cast<std::size_t>(found - names.begin());
    if (found == names.end()) names.push_back(name);
    return number;
  };
  std::vector<Look> looks;
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    looks.push_back(series.group.empty()
                        ? Look{i, i + i / 8}
                        : Look{place(groups, series.group), place(members, series.member)});
  }
  return looks;
}

std::vector<std::vector<ChartPoint>> points_of(const Chart& chart) {
  std::vector<std::vector<ChartPoint>> points;
  for (const Series& series : chart.series) points.push_back(thinned(series.points, kMostDrawn));
  return points;
}

}  // namespace

Ruler::Ruler(const Axis& axis, const std::vector<double>& values, double from, double to)
    : scale_(axis.scale), interval_(interval_of(values, axis.scale)), from_(from), to_(to) {
  if (axis.low && is_drawable(*axis.low, scale_)) interval_.low = *axis.low;
  if (axis.high && is_drawable(*axis.high, scale_)) interval_.high = *axis.high;
  if (interval_.low < interval_.high) return;
  interval_ = interval_of(std::array{interval_.low}, scale_);
}

void Ruler::round_ends(const Axis& axis, int most) {
  const Interval wide = rounded(interval_, scale_, most);
  if (!axis.low) interval_.low = wide.low;
  if (!axis.high) interval_.high = wide.high;
}

std::vector<Tick> Ruler::marks(const Axis& axis, int most, const TextRoom& room) const {
  const double length = std::abs(to_ - from_);
  if (axis.ticks.empty()) {
    return ticks_with_ends(interval_, axis, most, {room.each / length, room.character / length});
  }
  std::vector<double> inside;
  for (const double value : axis.ticks) {
    if (value >= interval_.low && value <= interval_.high) inside.push_back(value);
  }
  return ticks_at(inside);
}

Plot plot_of(const Chart& chart) {
  Plot plot = {Ruler(chart.x, values_of(chart, &ChartPoint::x), kLeft, right_of(chart)),
               Ruler(chart.y, values_of(chart, &ChartPoint::y), chart.height - kBottom, kTop),
               chart, looks_of(chart), points_of(chart)};
  plot.y.round_ends(chart.y, kTicksY);
  if (chart.x.scale == Scale::kLog10 && chart.x.ticks.empty())
    plot.x.round_ends(chart.x, ticks_x(chart));
  return plot;
}

std::string line_svg(double x1, double y1, double x2, double y2, const char* kind) {
  return str_cat("<path class=\"", kind, "\" d=\"M", tenths(x1), " ", tenths(y1), "L", tenths(x2),
                 " ", tenths(y2), "\"/>");
}

std::string text_svg(double x, double y, const char* anchor, const std::string& what,
                     const std::string& more) {
  return str_cat("<text x=\"", tenths(x), "\" y=\"", tenths(y), "\" text-anchor=\"", anchor, "\"",
                 more, ">", escape(what), "</text>");
}

std::string axes_svg(const Plot& plot) {
  const Chart& chart = plot.chart;
  const double bottom = chart.height - kBottom, right = right_of(chart);
  std::string svg;
  for (const Tick& tick : plot.y.marks(chart.y, kTicksY, {.each = 14, .character = 0})) {
    const double y = plot.y(tick.value);
    svg += line_svg(kLeft, y, right, y, "grid") + text_svg(kLeft - 6, y + 4, "end", tick.text);
  }
  const TextRoom room = {.each = 8, .character = kCharacter};
  for (const Tick& tick : plot.x.marks(chart.x, ticks_x(chart), room)) {
    const double x = plot.x(tick.value);
    const double half = static_cast<double>(tick.text.size()) * kCharacter / 2;
    svg += line_svg(x, bottom, x, bottom + 4, "frame") +
           text_svg(std::min(x, chart.width - half), bottom + 18, "middle", tick.text);
  }
  svg += str_cat("<path class=\"frame\" d=\"M", tenths(kLeft), " ", tenths(kTop), "V",
                 tenths(bottom), "H", tenths(right), "\"/>\n");
  const double middle_x = (kLeft + right) / 2, middle_y = (kTop + bottom) / 2;
  svg += text_svg(middle_x, chart.height - 8, "middle", chart.x.label);
  svg += text_svg(14, middle_y, "middle", chart.y.label,
                  str_cat(" transform=\"rotate(-90 14 ", tenths(middle_y), ")\""));
  return svg + '\n';
}

std::string dot_svg(double x, double y, const Look& look, const std::string& title) {
  constexpr std::array<const char*, 8> kShapes = {"m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z",
                                                  "m-3-3h6v6h-6z",
                                                  "m0-4.4l4.2 7.4h-8.4z",
                                                  "m0-4.5l4.5 4.5l-4.5 4.5l-4.5-4.5z",
                                                  "m0 4.4l4.2-7.4h-8.4z",
                                                  "m-1.4-4.4h2.8v3h3v2.8h-3v3h-2.8v-3h-3v-2.8h3z",
                                                  "m-4.5-1.5h9v3h-9z",
                                                  "m-1.5-4.5h3v9h-3z"};
  return str_cat("<path class=\"dot\" d=\"M", tenths(x), " ", tenths(y), kShapes[look.pattern % 8],
                 "\">", title, "</path>");
}

// Many points make a fine line; one with dots is thicker.
const char* line_class(const Series& series) {
  constexpr std::size_t kMany = 150;
  if (series.mark == Mark::kGuide) return "guide";
  if (series.mark == Mark::kLineAndDots) return "line strong";
  return series.points.size() > kMany ? "line fine" : "line";
}

std::string said(const Axis& axis, const ChartPoint& point) {
  if (axis.is_time) return duration_text(point.x);
  const std::string text = str_cat(axis.label, " ", number_text(point.x));
  return point.epoch > 0 ? str_cat(text, ", epoch ", point.epoch) : text;
}

}  // namespace tessera::pages
