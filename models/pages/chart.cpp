#include "models/pages/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>
#include <string_view>
#include <utility>

#include "models/pages/detail/axis_ticks.h"
#include "models/pages/detail/numbers.h"
#include "models/pages/page.h"
#include "tensor/error.h"

namespace tessera::pages {

namespace {

constexpr std::size_t kMostDrawn = 450;  // points of a series: more than a screen can tell apart
constexpr int kTicksX = 7;
constexpr int kTicksY = 6;
constexpr double kLeft = 74, kRight = 28, kTop = 12, kBottom = 46;

/// A place in the picture, to a tenth of a unit.
std::string at(double value) {
  return decimals(value, 1);
}

std::string attribute(std::string_view name, double value) {
  return str_cat(" ", name, "=\"", at(value), "\"");
}

/// The values of all points, but those of guides where there are others.
std::vector<double> values_of(const Chart& chart, double ChartPoint::*member) {
  const auto is_guide = [](const Series& series) { return series.mark == Mark::kGuide; };
  const bool all = std::all_of(chart.series.begin(), chart.series.end(), is_guide);
  std::vector<double> values;
  for (const Series& series : chart.series) {
    if (is_guide(series) && !all) continue;
    for (const ChartPoint& point : series.points) values.push_back(point.*member);
  }
  return values;
}

/// An axis with its ends known, and the part of the picture that it covers.
class Ruler {
 public:
  Ruler(const Axis& axis, const std::vector<double>& values, double from, double to)
      : scale_(axis.scale), interval_(interval_of(values, axis.scale)), from_(from), to_(to) {
    if (axis.low && is_drawable(*axis.low, scale_)) interval_.low = *axis.low;
    if (axis.high && is_drawable(*axis.high, scale_)) interval_.high = *axis.high;
    if (interval_.low < interval_.high) return;
    interval_ = interval_of(std::array{interval_.low}, scale_);
  }

  /// Moves the ends that the axis leaves open to round numbers.
  void round_ends(const Axis& axis, int most) {
    const Interval wide = rounded(interval_, scale_, most);
    if (!axis.low) interval_.low = wide.low;
    if (!axis.high) interval_.high = wide.high;
  }

  bool holds(double value) const { return is_drawable(value, scale_); }
  double operator()(double value) const {
    return from_ + (to_ - from_) * std::clamp(position(value, interval_, scale_), -9.0, 9.0);
  }
  std::vector<Tick> marks(const Axis& axis, int most) const {
    std::vector<double> inside;
    if (axis.ticks.empty()) {
      const std::vector<Tick> found = ticks(interval_, scale_, most);
      if (!axis.whole) return found;
      for (const Tick& tick : found) {
        if (tick.value == std::trunc(tick.value)) inside.push_back(tick.value);
      }
      return ticks_at(inside);
    }
    for (const double value : axis.ticks) {
      if (value >= interval_.low && value <= interval_.high) inside.push_back(value);
    }
    return ticks_at(inside);
  }

 private:
  Scale scale_;
  Interval interval_;
  double from_;
  double to_;
};

struct Plot {
  Ruler x;
  Ruler y;
  const Chart& chart;
};

Plot plot_of(const Chart& chart) {
  Plot plot = {Ruler(chart.x, values_of(chart, &ChartPoint::x), kLeft, chart.width - kRight),
               Ruler(chart.y, values_of(chart, &ChartPoint::y), chart.height - kBottom, kTop),
               chart};
  plot.y.round_ends(chart.y, kTicksY);
  if (chart.x.scale == Scale::kLog10) plot.x.round_ends(chart.x, kTicksX);
  return plot;
}

std::string line(double x1, double y1, double x2, double y2, const char* kind) {
  return str_cat("<path class=\"", kind, "\" d=\"M", at(x1), " ", at(y1), "L", at(x2), " ", at(y2),
                 "\"/>");
}

std::string text(double x, double y, const char* anchor, const std::string& what,
                 const std::string& more = "") {
  return str_cat("<text", attribute("x", x), attribute("y", y), " text-anchor=\"", anchor, "\"",
                 more, ">", escape(what), "</text>");
}

std::string axes(const Plot& plot) {
  const Chart& chart = plot.chart;
  const double bottom = chart.height - kBottom, right = chart.width - kRight;
  std::string svg;
  for (const Tick& tick : plot.y.marks(chart.y, kTicksY)) {
    const double y = plot.y(tick.value);
    svg += line(kLeft, y, right, y, "grid") + text(kLeft - 6, y + 4, "end", tick.text);
  }
  for (const Tick& tick : plot.x.marks(chart.x, kTicksX)) {
    const double x = plot.x(tick.value);
    svg += line(x, bottom, x, bottom + 4, "frame") + text(x, bottom + 18, "middle", tick.text);
  }
  svg += str_cat("<path class=\"frame\" d=\"M", at(kLeft), " ", at(kTop), "V", at(bottom), "H",
                 at(right), "\"/>\n");
  const double middle_x = (kLeft + right) / 2, middle_y = (kTop + bottom) / 2;
  svg += text(middle_x, chart.height - 8, "middle", chart.x.label);
  svg += text(14, middle_y, "middle", chart.y.label,
              str_cat(" transform=\"rotate(-90 14 ", at(middle_y), ")\""));
  return svg + '\n';
}

/// What is said of a point that is pointed at.
std::string said(const Chart& chart, const Series& series, const ChartPoint& point) {
  std::string text = series.name;
  if (!point.label.empty()) text += (text.empty() ? "" : ", ") + point.label;
  return str_cat(text, text.empty() ? "" : ": ", chart.x.label, " ", number_text(point.x), ", ",
                 chart.y.label, " ", number_text(point.y));
}

/// The line through the points, which begins anew behind each that cannot be drawn. A point alone
/// between two such is a dot by its round ends.
std::string path(const Plot& plot, const std::vector<ChartPoint>& points) {
  std::string d;
  bool down = false;
  for (const ChartPoint& point : points) {
    const bool is_there = plot.x.holds(point.x) && plot.y.holds(point.y);
    if (is_there) {
      const std::string place = at(plot.x(point.x)) + ' ' + at(plot.y(point.y));
      d += down ? 'L' + place : 'M' + place + 'L' + place;
    }
    down = is_there;
  }
  return d;
}

std::string classes(std::size_t which) {
  return str_cat("s", which % 8, " d", (which + which / 8) % 4);
}

/// A point as a dot, with the values that pointing at it shows, and its label.
std::string mark(const Plot& plot, const Series& series, const ChartPoint& point) {
  const std::string title = "<title>" + escape(said(plot.chart, series, point)) + "</title>";
  if (!plot.x.holds(point.x)) return "";
  const double x = plot.x(point.x);
  if (!plot.y.holds(point.y)) {
    return str_cat("<path class=\"cross\" d=\"M", at(x - 4), " ", at(kTop + 1), "l8 8m0 -8l-8 8\">",
                   title, "</path>");
  }
  const double y = plot.y(point.y);
  const bool has_dot = series.mark == Mark::kDots || series.mark == Mark::kLineAndDots ||
                       (series.mark == Mark::kLine && series.points.size() == 1);
  std::string svg;
  if (has_dot)
    svg += str_cat("<circle class=\"dot\" cx=\"", at(x), "\" cy=\"", at(y), "\" r=\"3\"/>");
  if (!point.label.empty()) {
    const bool is_left = x < (kLeft + plot.chart.width) / 2;
    const double inside = std::clamp(x, kLeft, plot.chart.width - kRight);
    svg += text(is_left ? inside + 6 : inside - 6, std::max(y - 6, kTop + 10),
                is_left ? "start" : "end", point.label);
  }
  return svg + str_cat("<circle class=\"hit\" cx=\"", at(x), "\" cy=\"", at(y), "\" r=\"5\">",
                       title, "</circle>\n");
}

/// Many points make a fine line; one with dots stands out before it.
const char* line_class(const Series& series) {
  constexpr std::size_t kMany = 150;
  if (series.mark == Mark::kGuide) return "guide";
  if (series.mark == Mark::kLineAndDots) return "line strong";
  return series.points.size() > kMany ? "line fine" : "line";
}

std::string drawn(const Plot& plot, const Series& series, std::size_t which) {
  const std::vector<ChartPoint> points = thinned(series.points, kMostDrawn);
  const bool is_guide = series.mark == Mark::kGuide;
  std::string svg = str_cat("<g class=\"", is_guide ? "" : classes(which), "\">");
  if (series.mark != Mark::kDots) {
    svg += str_cat("<path class=\"", line_class(series), "\" d=\"", path(plot, points), "\"/>\n");
  }
  for (const ChartPoint& point : points) svg += mark(plot, series, point);
  return svg + "</g>\n";
}

std::string legend(const Chart& chart) {
  if (chart.series.size() < 2) return "";
  std::string html = "<ul class=\"legend\">";
  for (std::size_t i = 0; i < chart.series.size(); ++i) {
    const Series& series = chart.series[i];
    const bool is_guide = series.mark == Mark::kGuide;
    html += str_cat("<li class=\"", is_guide ? "" : classes(i),
                    "\"><svg viewBox=\"0 0 28 10\" aria-hidden=\"true\">");
    if (series.mark != Mark::kDots) html += line(0, 5, 28, 5, line_class(series));
    if (series.mark == Mark::kDots || series.mark == Mark::kLineAndDots) {
      html += "<circle class=\"dot\" cx=\"14\" cy=\"5\" r=\"3\"/>";
    }
    html += "</svg>" + escape(series.name) + "</li>";
  }
  return html + "</ul>\n";
}

/// The chart in words: each series' ends and extremes.
std::string in_words(const Plot& plot) {
  const Chart& chart = plot.chart;
  std::string words = chart.description;
  const auto say = [&](const std::string& more) { words += (words.empty() ? "" : " ") + more; };
  for (const Series& series : chart.series) {
    const ChartPoint *first = nullptr, *last = nullptr, *low = nullptr, *high = nullptr;
    std::ptrdiff_t missing = 0;
    for (const ChartPoint& point : series.points) {
      if (!plot.x.holds(point.x) || !plot.y.holds(point.y)) {
        ++missing;
        continue;
      }
      if (first == nullptr) first = low = high = &point;
      last = &point;
      if (point.y < low->y) low = &point;
      if (point.y > high->y) high = &point;
    }
    if (first == nullptr) {
      say(str_cat(series.name, ": no values."));
    } else {
      say(str_cat(series.name, ": from ", number_text(first->y), " at ", number_text(first->x),
                  " to ", number_text(last->y), " at ", number_text(last->x), "; smallest ",
                  number_text(low->y), " at ", number_text(low->x), ", largest ",
                  number_text(high->y), " at ", number_text(high->x), "."));
    }
    if (missing > 0) say(str_cat(missing, " values cannot be drawn."));
  }
  return words;
}

/// The attributes of the picture's <svg>.
std::string frame_of(const Chart& chart, const std::string& words) {
  return str_cat(" viewBox=\"0 0 ", at(chart.width), " ", at(chart.height),
                 "\" role=\"img\" aria-label=\"", escape(chart.title + ". " + words), "\"");
}

/// What is in it.
std::string picture_of(const Plot& plot, const std::string& words) {
  const Chart& chart = plot.chart;
  std::string svg = str_cat("<desc>", escape(words), "</desc>\n", axes(plot));
  // An inner picture, so that nothing is drawn beyond the axes; a little room for dots on them.
  constexpr double kRoom = 6;
  const double x = kLeft - kRoom, y = kTop - kRoom;
  const double width = chart.width - kRight - x + kRoom,
               height = chart.height - kBottom - y + kRoom;
  svg += str_cat("<svg", attribute("x", x), attribute("y", y), attribute("width", width),
                 attribute("height", height), " viewBox=\"", at(x), " ", at(y), " ", at(width), " ",
                 at(height), "\">\n");
  for (std::size_t i = 0; i < chart.series.size(); ++i) svg += drawn(plot, chart.series[i], i);
  return svg + "</svg>";
}

}  // namespace

std::string chart_html(const Chart& chart) {
  const Plot plot = plot_of(chart);
  const std::string words = in_words(plot);
  return "<figure class=\"chart\"><figcaption>" + escape(chart.title) + "</figcaption>\n" +
         legend(chart) + "<svg" + frame_of(chart, words) + ">" + picture_of(plot, words) +
         "</svg></figure>\n";
}

std::string chart_svg(const Chart& chart, const std::string& more) {
  const Plot plot = plot_of(chart);
  const std::string words = in_words(plot);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\"" + frame_of(chart, words) +
         "><style>" + std::string(asset("page.css")) + std::string(asset("chart.css")) +
         ".chart text { font: 12px sans-serif; fill: var(--muted); }</style>" +
         "<rect width=\"100%\" height=\"100%\" fill=\"var(--ground)\"/>" + picture_of(plot, words) +
         more + "</svg>\n";
}

std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points, std::size_t most) {
  constexpr std::size_t kKept = 3;  // of a stretch
  if (points.size() <= most || most < kKept + 2) return points;
  const std::size_t stretches = (most - 2) / kKept;
  std::vector<ChartPoint> kept = {points.front()};
  const std::span<const ChartPoint> inner = std::span(points).subspan(1, points.size() - 2);
  for (std::size_t i = 0; i < stretches; ++i) {
    const std::size_t begin = inner.size() * i / stretches;
    const std::size_t end = inner.size() * (i + 1) / stretches;
    constexpr std::size_t kNone = static_cast<std::size_t>(-1);
    std::array<std::size_t, kKept> chosen = {kNone, kNone, kNone};  // smallest, largest, not finite
    for (std::size_t j = begin; j < end; ++j) {
      const double y = inner[j].y;
      if (!std::isfinite(y)) {
        chosen[2] = j;
        continue;
      }
      if (chosen[0] == kNone || y < inner[chosen[0]].y) chosen[0] = j;
      if (chosen[1] == kNone || y > inner[chosen[1]].y) chosen[1] = j;
    }
    std::sort(chosen.begin(), chosen.end());
    const auto last = std::unique(chosen.begin(), chosen.end());
    for (auto place = chosen.begin(); place != last; ++place) {
      if (*place != kNone) kept.push_back(inner[*place]);
    }
  }
  kept.push_back(points.back());
  return kept;
}

}  // namespace tessera::pages
