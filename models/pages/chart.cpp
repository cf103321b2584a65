#include "tessera/models/pages/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <numbers>
#include <string_view>

#include "tessera/models/pages/detail/axis_ticks.h"
#include "tessera/models/pages/detail/numbers.h"
#include "tessera/models/pages/page.h"
#include "tessera/tensor/error.h"

namespace tessera::pages {

namespace {

constexpr double kLeft = 74, kRight = 28, kTop = 12, kBottom = 46;
constexpr int kTicksX = 7, kTicksY = 6;

/// A place in the picture, to a tenth of a unit.
std::string tenths(double value) {
  return decimals(value, 1);
}

/// The number at a tick. Ten digits hide what is lost in i * step.
std::string tick_text(double value) {
  return significant(value, 10);
}

/// An axis with its ends, and the part of the picture that it covers.
struct Ruler {
  Scale scale;
  Interval ends;
  double from, to;

  bool holds(double value) const { return is_drawable(value, scale); }
  double operator()(double value) const {
    return from + (to - from) * std::clamp(position(value, ends, scale), -9.0, 9.0);
  }
};

Ruler ruler_of(const Chart& chart, const Axis& axis, double ChartPoint::*member, double from,
               double to) {
  std::vector<double> values;
  for (const Series& series : chart.series) {
    for (const ChartPoint& point : series.points) values.push_back(point.*member);
  }
  Interval ends = interval_of(values, axis.scale);
  if (axis.low && is_drawable(*axis.low, axis.scale)) ends.low = *axis.low;
  if (axis.high && is_drawable(*axis.high, axis.scale)) ends.high = *axis.high;
  if (!(ends.low < ends.high)) ends = interval_of(std::array{ends.low}, axis.scale);
  const Interval wide = rounded(ends, axis.scale, member == &ChartPoint::x ? kTicksX : kTicksY);
  if (!axis.low) ends.low = wide.low;
  if (!axis.high) ends.high = wide.high;
  return {axis.scale, ends, from, to};
}

struct Plot {
  const Chart& chart;
  double right = chart.width - kRight - chart.legend;
  double bottom = chart.height - kBottom;
  Ruler x = ruler_of(chart, chart.x, &ChartPoint::x, kLeft, right);
  Ruler y = ruler_of(chart, chart.y, &ChartPoint::y, bottom, kTop);

  bool holds(const ChartPoint& point) const { return x.holds(point.x) && y.holds(point.y); }
};

std::string line_svg(double x1, double y1, double x2, double y2, const char* kind) {
  return str_cat("<path class=\"", kind, "\" d=\"M", tenths(x1), " ", tenths(y1), "L", tenths(x2),
                 " ", tenths(y2), "\"/>");
}

std::string text_svg(double x, double y, const char* anchor, const std::string& what,
                     const std::string& more = "") {
  return str_cat("<text x=\"", tenths(x), "\" y=\"", tenths(y), "\" text-anchor=\"", anchor, "\"",
                 more, ">", escape(what), "</text>");
}

/// Frame, grid, numbers and labels.
std::string axes_svg(const Plot& plot) {
  const Chart& chart = plot.chart;
  std::string svg;
  for (const double value : ticks(plot.y.ends, chart.y.scale, kTicksY)) {
    const double y = plot.y(value);
    svg += line_svg(kLeft, y, plot.right, y, "grid") +
           text_svg(kLeft - 6, y + 4, "end", tick_text(value));
  }
  for (const double value : ticks(plot.x.ends, chart.x.scale, kTicksX)) {
    const double x = plot.x(value);
    svg += line_svg(x, plot.bottom, x, plot.bottom + 4, "frame") +
           text_svg(x, plot.bottom + 18, "middle", tick_text(value));
  }
  svg += str_cat("<path class=\"frame\" d=\"M", tenths(kLeft), " ", tenths(kTop), "V",
                 tenths(plot.bottom), "H", tenths(plot.right), "\"/>\n");
  const double middle_x = (kLeft + plot.right) / 2, middle_y = (kTop + plot.bottom) / 2;
  svg += text_svg(middle_x, chart.height - 8, "middle", chart.x.label);
  svg += text_svg(14, middle_y, "middle", chart.y.label,
                  str_cat(" transform=\"rotate(-90 14 ", tenths(middle_y), ")\""));
  return svg + '\n';
}

/// The shape of dots of the series with this index.
std::string dot_svg(double x, double y, std::size_t series, const std::string& title = "") {
  constexpr std::array<const char*, 8> kShapes = {"m-3 0a3 3 0 1 0 6 0a3 3 0 1 0-6 0z",
                                                  "m-3-3h6v6h-6z",
                                                  "m0-4.4l4.2 7.4h-8.4z",
                                                  "m0-4.5l4.5 4.5l-4.5 4.5l-4.5-4.5z",
                                                  "m0 4.4l4.2-7.4h-8.4z",
                                                  "m-1.4-4.4h2.8v3h3v2.8h-3v3h-2.8v-3h-3v-2.8h3z",
                                                  "m-4.5-1.5h9v3h-9z",
                                                  "m-1.5-4.5h3v9h-3z"};
  return str_cat("<path class=\"dot\" d=\"M", tenths(x), " ", tenths(y),
                 kShapes[(series + series / 8) % 8], "\">", title, "</path>");
}

/// The classes of a series, which give colour and dash pattern.
std::string classes_of(std::size_t series) {
  return str_cat("s", series % 8, series / 8 % 2 > 0 ? " again" : "", " d",
                 (series + series / 8) % 8);
}

/// The line through the points, which begins anew after each that cannot be drawn. A single point
/// is a dot by its round ends.
std::string path(const Plot& plot, const std::vector<ChartPoint>& points) {
  std::string d;
  bool down = false;
  for (const ChartPoint& point : points) {
    const bool is_there = plot.holds(point);
    if (is_there) {
      const std::string place = tenths(plot.x(point.x)) + ' ' + tenths(plot.y(point.y));
      d += down ? 'L' + place : 'M' + place + 'L' + place;
    }
    down = is_there;
  }
  return d;
}

/// The label of a guide, along the line from the point before.
std::string name_along(const Plot& plot, const ChartPoint& before, const ChartPoint& point) {
  const double x = plot.x(point.x), y = plot.y(point.y);
  const double angle =
      std::atan2(y - plot.y(before.y), x - plot.x(before.x)) * 180 / std::numbers::pi;
  return text_svg(x, y - 6, "middle", point.label,
                  str_cat(" class=\"label\" transform=\"rotate(", tenths(angle), " ", tenths(x),
                          " ", tenths(y), ")\""));
}

/// A point's dot, if it has one, and its label.
std::string mark(const Plot& plot, std::size_t index, const ChartPoint& point) {
  if (!plot.holds(point)) return "";
  const Series& series = plot.chart.series[index];
  const double x = plot.x(point.x), y = plot.y(point.y);
  std::string svg;
  if (series.mark == Mark::kDots || series.points.size() == 1) {
    svg += dot_svg(x, y, index,
                   "<title>" +
                       escape(str_cat(series.name, series.name.empty() ? "" : ": ",
                                      plot.chart.x.label, " ", number_text(point.x), ", ",
                                      plot.chart.y.label, " ", number_text(point.y))) +
                       "</title>");
  }
  if (!point.label.empty()) {
    const bool is_left = x < (kLeft + plot.chart.width) / 2;
    const double inside = std::clamp(x, kLeft, plot.right);
    svg += text_svg(is_left ? inside + 6 : inside - 6, std::max(y - 6, kTop + 10),
                    is_left ? "start" : "end", point.label, " class=\"label\"");
  }
  return svg.empty() ? svg : svg + '\n';
}

std::string drawn(const Plot& plot, std::size_t index) {
  const Series& series = plot.chart.series[index];
  std::string svg = str_cat("<g class=\"", classes_of(index), "\">");
  if (series.mark != Mark::kDots) {
    svg += str_cat("<path class=\"", series.mark == Mark::kGuide ? "guide" : "line", "\" d=\"",
                   path(plot, series.points), "\"/>\n");
  }
  for (std::size_t i = 0; i < series.points.size(); ++i) {
    const ChartPoint& point = series.points[i];
    if (series.mark != Mark::kGuide) {
      svg += mark(plot, index, point);
    } else if (i > 0 && !point.label.empty()) {
      svg += name_along(plot, series.points[i - 1], point);
    }
  }
  return svg + "</g>\n";
}

/// The names of series, at the right of the picture.
std::string legend_svg(const Plot& plot) {
  const double x = plot.right + 28;
  double y = kTop + 10;
  std::string svg;
  for (std::size_t i = 0; i < plot.chart.series.size() && plot.chart.legend > 0; ++i) {
    const Series& series = plot.chart.series[i];
    if (series.mark == Mark::kGuide) continue;
    svg += str_cat("<g class=\"", classes_of(i), "\">",
                   series.mark == Mark::kDots ? dot_svg(x, y - 4, i)
                                              : line_svg(x - 14, y - 4, x + 14, y - 4, "line"),
                   text_svg(x + 18, y, "start", series.name), "</g>\n");
    y += 18;
  }
  return svg;
}

/// The chart in words: each series' ends and extremes.
std::string in_words(const Plot& plot) {
  std::string words = plot.chart.description;
  for (const Series& series : plot.chart.series) {
    std::vector<ChartPoint> points = series.points;
    std::erase_if(points, [&](const ChartPoint& point) { return !plot.holds(point); });
    words += (words.empty() ? "" : " ") + series.name;
    if (points.empty()) {
      words += ": no values.";
      continue;
    }
    const auto low = std::ranges::min_element(points, {}, &ChartPoint::y);
    const auto high = std::ranges::max_element(points, {}, &ChartPoint::y);
    const auto said = [](const ChartPoint& point) {
      return number_text(point.y) + " at " + number_text(point.x);
    };
    words += str_cat(": from ", said(points.front()), " to ", said(points.back()), "; smallest ",
                     said(*low), ", largest ", said(*high), ".");
  }
  return words;
}

}  // namespace

std::string chart_svg(const Chart& chart) {
  const Plot plot{chart};
  const std::string words = in_words(plot);
  std::string svg = str_cat(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\" viewBox=\"0 0 ",
      tenths(chart.width), " ", tenths(chart.height), "\" role=\"img\" aria-label=\"",
      escape(chart.title + ". " + words), "\"><style>", asset("page.css"), asset("chart.css"),
      "</style><rect width=\"100%\" height=\"100%\" fill=\"var(--ground)\"/><desc>", escape(words),
      "</desc>\n", axes_svg(plot));
  // An inner picture, so that nothing is drawn beyond the axes; a little room for dots on them.
  constexpr double kRoom = 6;
  const std::string x = tenths(kLeft - kRoom), y = tenths(kTop - kRoom);
  const std::string width = tenths(plot.right - kLeft + 2 * kRoom);
  const std::string height = tenths(plot.bottom - kTop + 2 * kRoom);
  svg += str_cat("<svg x=\"", x, "\" y=\"", y, "\" width=\"", width, "\" height=\"", height,
                 "\" viewBox=\"", x, " ", y, " ", width, " ", height, "\">\n");
  for (const bool guides : {true, false}) {  // below the others
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
      if ((chart.series[i].mark == Mark::kGuide) == guides) svg += drawn(plot, i);
    }
  }
  return svg + "</svg>" + legend_svg(plot) + "</svg>\n";
}

}  // namespace tessera::pages
