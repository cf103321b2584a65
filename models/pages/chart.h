// Charts of lines and points as SVG files.
//
//   const std::string svg = pages::chart_svg(
//       {.title = "Loss",
//        .x = {.label = "step"},
//        .y = {.label = "loss", .scale = pages::Scale::kLog10},
//        .series = {{.name = "training", .points = {{1, 2.3}, {2, 1.9}}}}});
#pragma once

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
  std::optional<double> low = {};   // if absent, a round number below all values
  std::optional<double> high = {};  // if absent, a round number above all values
};

/// A point of a series.
struct ChartPoint {
  double x;
  double y;
  std::string label = {};  // next to the point
};

/// The style of a series. A guide is a thin grey line, such as a roofline; its labels run along it.
enum class Mark { kLine, kDots, kGuide };

/// Points that are drawn alike. Each series has its own colour, dash pattern and shape of dots.
struct Series {
  std::string name = {};
  std::vector<ChartPoint> points = {};
  Mark mark = Mark::kLine;
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
  double legend = 0;  // width of a legend at the right; 0: none
};

/// The chart as a standalone SVG file, with its style for light and dark screens and for paper. The
/// names of series are in the legend, if there is one; otherwise only the labels of points identify
/// the series. Values that are not finite, or not positive on a logarithmic axis, break the line.
std::string chart_svg(const Chart& chart);

}  // namespace tessera::pages
