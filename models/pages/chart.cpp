#include "models/pages/chart.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numbers>
#include <span>
#include <string_view>
#include <utility>

#include "models/pages/detail/plot.h"
#include "models/pages/page.h"
#include "tensor/error.h"

namespace tessera::pages {

namespace {

std::string attribute(std::string_view name, double value) {
  return str_cat(" ", name, "=\"", tenths(value), "\"");
}

/// The line through the points, which begins anew behind each that cannot be drawn. A point alone
/// between two such is a dot by its round ends.
std::string path(const Plot& plot, const std::vector<ChartPoint>& points) {
  std::string d;
  bool down = false;
  for (const ChartPoint& point : points) {
    const bool is_there = plot.x.holds(point.x) && plot.y.holds(point.y);
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

/// A point as a dot, with the values that pointing at it shows, and its label.
std::string mark(const Plot& plot, const Series& series, const Look& look,
                 const ChartPoint& point) {
  const auto title = [&] {  // most points of a line have none
    return "<title>" +
           escape(str_cat(series.name, series.name.empty() ? "" : ": ", said(plot.chart.x, point),
                          ", ", plot.chart.y.label, " ", number_text(point.y))) +
           "</title>";
  };
  if (!plot.x.holds(point.x)) return "";
  const double x = plot.x(point.x);
  if (!plot.y.holds(point.y)) {
    return str_cat("<path class=\"cross\" d=\"M", tenths(x - 4), " ", tenths(kTop + 1),
                   "l8 8m0 -8l-8 8\">", title(), "</path>");
  }
  const double y = plot.y(point.y);
  const bool has_dot = series.mark == Mark::kDots || series.mark == Mark::kLineAndDots ||
                       (series.mark == Mark::kLine && series.points.size() == 1);
  std::string svg;
  if (has_dot) svg += dot_svg(x, y, look, title());
  if (!point.label.empty()) {
    const bool is_left = x < (kLeft + plot.chart.width) / 2;
    const double inside = std::clamp(x, kLeft, right_of(plot.chart));
    svg += text_svg(is_left ? inside + 6 : inside - 6, std::max(y - 6, kTop + 10),
                    is_left ? "start" : "end", point.label, " class=\"label\"");
  }
  return svg.empty() ? svg : svg + '\n';
}

std::string drawn(const Plot& plot, std::size_t index) {
  const Series& series = plot.chart.series[index];
  const std::vector<ChartPoint>& points = plot.points[index];
  const Look& look = plot.looks[index];
  std::string svg = str_cat("<g class=\"", look.classes(), "\">");
  if (series.mark != Mark::kDots) {
    svg += str_cat("<path class=\"", line_class(series), "\" d=\"", path(plot, points), "\"/>\n");
  }
  for (std::size_t i = 0; i < points.size(); ++i) {
    if (series.mark != Mark::kGuide) {
      svg += mark(plot, series, look, points[i]);
    } else if (i > 0 && !points[i].label.empty()) {
      svg += name_along(plot, points[i - 1], points[i]);
    }
  }
  return svg + "</g>\n";
}

/// What a legend shows of a series.
std::string sample(const Series& series, const Look& look, double x, double y) {
  std::string svg;
  if (series.mark != Mark::kDots) svg += line_svg(x - 14, y, x + 14, y, line_class(series));
  if (series.mark == Mark::kDots || series.mark == Mark::kLineAndDots) svg += dot_svg(x, y, look);
  return svg;
}

/// The points of a series for assets/chart.js: a line each with place, x and y.
std::string data_of(const Plot& plot, std::size_t index) {
  std::string data;
  if (plot.chart.series[index].mark == Mark::kGuide) return data;
  for (const ChartPoint& point : plot.points[index]) {
    if (!plot.x.holds(point.x)) continue;
    const double y = plot.y.holds(point.y) ? plot.y(point.y) : kTop + 5;
    data += str_cat(data.empty() ? "" : "\n", tenths(plot.x(point.x)), "\t", tenths(y), "\t",
                    said(plot.chart.x, point), "\t", number_text(point.y));
  }
  return escape(data);
}

/// A line for each group of series. assets/chart.js writes the place and the values at it.
std::string legend_html(const Plot& plot) {
  const std::vector<Series>& all = plot.chart.series;
  std::string html =
      str_cat("<p class=\"at\"></p><ul class=\"legend", plot.chart.x.is_time ? " time" : "", "\">");
  for (std::size_t i = 0; i < all.size(); ++i) {
    const Series& series = all[i];
    const bool begins = i == 0 || series.group.empty() || series.group != all[i - 1].group;
    if (begins) html += i == 0 ? "<li>" : "</li>\n<li>";
    if (begins && !series.group.empty()) html += "<b>" + escape(series.group) + "</b>";
    html += str_cat("<span class=\"", plot.looks[i].classes(),
                    "\"><svg viewBox=\"0 0 28 10\" aria-hidden=\"true\">",
                    sample(series, plot.looks[i], 14, 5), "</svg>",
                    escape(series.group.empty() ? series.name : series.member),
                    " <span class=\"value\" data-points=\"", data_of(plot, i), "\"></span></span>");
  }
  return html + (all.empty() ? "" : "</li>") + "</ul>\n";
}

/// The names as SVG, at the right of the picture.
std::string legend_svg(const Plot& plot) {
  const double x = right_of(plot.chart) + 28;
  double y = kTop + 10;
  std::string svg;
  for (std::size_t i = 0; i < plot.looks.size() && plot.chart.legend > 0; ++i) {
    const Series& series = plot.chart.series[i];
    if (series.mark == Mark::kGuide) continue;
    svg += str_cat("<g class=\"", plot.looks[i].classes(), "\">",
                   sample(series, plot.looks[i], x, y - 4),
                   text_svg(x + 18, y, "start", series.name), "</g>\n");
    y += 18;
  }
  return svg;
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
  return str_cat(" viewBox=\"0 0 ", tenths(chart.width), " ", tenths(chart.height),
                 "\" role=\"img\" aria-label=\"", escape(chart.title + ". " + words), "\"");
}

/// What is in it.
std::string picture_of(const Plot& plot, const std::string& words) {
  const Chart& chart = plot.chart;
  std::string svg = str_cat("<desc>", escape(words), "</desc>\n", axes_svg(plot));
  // An inner picture, so that nothing is drawn beyond the axes; a little room for dots on them.
  constexpr double kRoom = 6;
  const double x = kLeft - kRoom, y = kTop - kRoom;
  const double width = right_of(chart) - x + kRoom, height = chart.height - kBottom - y + kRoom;
  svg += str_cat("<svg", attribute("x", x), attribute("y", y), attribute("width", width),
                 attribute("height", height), " viewBox=\"", tenths(x), " ", tenths(y), " ",
                 tenths(width), " ", tenths(height), "\">\n");
  for (const bool guides : {true, false}) {  // below the others
    for (std::size_t i = 0; i < chart.series.size(); ++i) {
      if ((chart.series[i].mark == Mark::kGuide) == guides) svg += drawn(plot, i);
    }
  }
  return svg + "</svg>";
}

}  // namespace

std::string chart_html(const Chart& chart) {
  const Plot plot = plot_of(chart);
  const std::string words = in_words(plot);
  return "<figure class=\"chart\"><figcaption>" + escape(chart.title) + "</figcaption>\n" +
         legend_html(plot) + "<svg" + frame_of(chart, words) + ">" + picture_of(plot, words) +
         "</svg></figure>\n";
}

std::string chart_svg(const Chart& chart) {
  const Plot plot = plot_of(chart);
  const std::string words = in_words(plot);
  return "<svg xmlns=\"http://www.w3.org/2000/svg\" class=\"chart\"" + frame_of(chart, words) +
         "><style>" + std::string(asset("page.css")) + std::string(asset("chart.css")) +
         "</style><rect width=\"100%\" height=\"100%\" fill=\"var(--ground)\"/>" +
         picture_of(plot, words) + legend_svg(plot) + "</svg>\n";
}

std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points, std::size_t most) {
  constexpr std::size_t kKept = 3;  // of a stretch
  require(most >= kKept + 2, "thinned", "most must be at least ", kKept + 2, ", got ", most);
  if (points.size() <= most) return points;
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
