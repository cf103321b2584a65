// Charts of lines and points as SVG inside HTML.
//
//   pages::Chart chart;
//   chart.title = "Loss";
//   chart.x.label = "step";
//   chart.y = {.label = "loss", .scale = pages::Scale::kLog10};
//   chart.series = {{.name = "training", .points = {{1, 2.3}, {2, 1.9}}}};
//   body += pages::chart_html(chart);
//
// A page with charts needs assets/chart.css and assets/chart.js: the styles colour the charts, for
// light and dark screens and for paper, and the script shows the values at the pointer.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "tensor/kernels/types.h"

namespace tessera::pages {

/// The scale of an axis.
enum class Scale { kLinear, kLog10 };

/// An axis of a chart.
struct Axis {
  std::string label = {};
  Scale scale = Scale::kLinear;
  std::optional<double> low = {};   // if absent, the smallest value
  std::optional<double> high = {};  // if absent, the largest value
  std::vector<double> ticks = {};   // positions of numbers; if empty, both ends and round numbers
  bool whole = false;               // only whole numbers at the axis, as for steps and epochs
  bool is_time = false;             // seconds, written as durations: "3 min 20 s"
};

/// A point of a series.
struct ChartPoint {
  double x;
  double y;
  std::string label = {};  // next to the point
  index_t epoch = 0;       // the epoch of step x, shown next to x; 0: unknown
};

/// The style of a series. A guide is a thin grey line, such as a roofline, without dots; its labels
/// run along it.
enum class Mark { kLine, kDots, kLineAndDots, kGuide };

/// Points that are drawn alike, with one entry in the legend. A series without `group` has its own
/// colour, dash pattern and shape of dots. All series of a group have the same colour, and all
/// series with the same `member` have the same dash pattern.
struct Series {
  std::string name = {};
  std::vector<ChartPoint> points = {};
  Mark mark = Mark::kLine;
  std::string group = {};
  std::string member = {};
};

/// A chart of one or several series over common axes.
struct Chart {
  std::string title = {};
  std::string description = {};  // for screen readers; the smallest and largest values are appended
  Axis x = {};
  Axis y = {};
  std::vector<Series> series = {};
  double width = 560;  // in units; the numbers on the axes are 12 units high
  double height = 300;
  double legend = 0;  // width of a legend at the right of chart_svg; 0: none
};

/// The chart as an HTML figure: caption, legend, and SVG. The legend shows the values at the
/// pointer, at a finger, or at the position of the arrow keys; at first, the last values. Values
/// that are not finite, or not positive on a logarithmic axis, break the line; a cross at the upper
/// edge marks each such value. Long series are drawn as thinned() returns them.
std::string chart_html(const Chart& chart);

/// The chart as a standalone SVG file, with its style. The names of series are in the legend, if
/// there is one; otherwise only the labels of points identify the series.
std::string chart_svg(const Chart& chart);

/// At most `most` of the points, in their order. The first and the last point are kept. The points
/// between them are divided into stretches, and of each stretch the smallest y, the largest y, and
/// one y that is not finite are kept. **Errors**: `most` below 5.
std::vector<ChartPoint> thinned(const std::vector<ChartPoint>& points, std::size_t most);

}  // namespace tessera::pages
