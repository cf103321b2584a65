// Charts of lines and points as SVG inside HTML, which need no script.
//
//   pages::Chart chart;
//   chart.title = "Loss";
//   chart.x.label = "step";
//   chart.y = {.label = "loss", .scale = pages::Scale::kLog10};
//   chart.series = {{.name = "training", .points = {{1, 2.3}, {2, 1.9}}}};
//   body += pages::chart_html(chart);
//
// The page's styles (assets/chart.css) colour them, light and dark and on paper.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

namespace tessera::pages {

/// The scale of an axis.
enum class Scale { kLinear, kLog10 };

/// An axis of a chart.
struct Axis {
  std::string label = {};
  Scale scale = Scale::kLinear;
  std::optional<double> low = {};   // else the smallest value
  std::optional<double> high = {};  // else the largest
  std::vector<double> ticks = {};   // where numbers stand; else at round ones
  bool whole = false;               // of those, only at whole ones: a step, an epoch
};

/// A point of a series.
struct ChartPoint {
  double x;
  double y;
  std::string label = {};  // next to the point
};

/// How a series is drawn. A guide is a thin grey line, such as a roofline: it has no dots, and its
/// values ask for no room on the axes.
enum class Mark { kLine, kDots, kLineAndDots, kGuide };

/// Points that are drawn alike, with one entry in the legend.
struct Series {
  std::string name = {};
  std::vector<ChartPoint> points = {};
  Mark mark = Mark::kLine;
};

/// A chart of one or several series over common axes.
struct Chart {
  std::string title = {};
  std::string description = {};  // for those who do not see it; smallest and largest values follow
  Axis x = {};
  Axis y = {};
  std::vector<Series> series = {};
  double width = 560;  // in units of which the numbers on the axes are 12 high
  double height = 300;
};

/// The chart as an HTML figure: caption, legend (of two series or more), and SVG. Pointing at a point
/// shows its values. Values that are not finite, or not positive on a logarithmic axis, break the
/// line; a cross at the upper edge marks each. Series are thinned.
std::string chart_html(const Chart& chart);

/// The chart's picture as a file of its own, with its style; it has no legend, and labels of points
/// can name the lines. `more` is SVG that is drawn on top.
std::string chart_svg(const Chart& chart, const std::string& more = {});

/// At most `most` of the points, in their order: the first, the last, and from each stretch between
/// the smallest and the largest y and one that is not finite. All of them if they are not more.
std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points, std::size_t most);

}  // namespace tessera::pages
