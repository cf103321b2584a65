// Where the values of a chart lie in its picture, and the parts that picture and legend share.
#pragma once

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

#include "models/pages/chart.h"
#include "models/pages/detail/axis_ticks.h"
#include "models/pages/detail/numbers.h"

namespace tessera::pages {

constexpr double kLeft = 74, kRight = 28, kTop = 12, kBottom = 46;

/// An axis with its ends known, and the part of the picture that it covers.
class Ruler {
 public:
  Ruler(const Axis& axis, const std::vector<double>& values, double from, double to);

  /// Moves the ends that the axis leaves open to round numbers.
  void round_ends(const Axis& axis, int most);

  bool holds(double value) const { return is_drawable(value, scale_); }
  double operator()(double value) const {
    return from_ + (to_ - from_) * std::clamp(position(value, interval_, scale_), -9.0, 9.0);
  }
  /// Its numbers; `room` is in units of the picture.
  std::vector<Tick> marks(const Axis& axis, int most, const TextRoom& room) const;

 private:
  Scale scale_;
  Interval interval_;
  double from_;
  double to_;
};

/// What tells series apart: a colour, and a dash pattern or the shape of the dots.
struct Look {
  std::size_t colour = 0;
  std::size_t pattern = 0;

  std::string classes() const {
    return str_cat("s", colour % 8, colour / 8 % 2 > 0 ? " again" : "", " d", pattern % 8);
  }
};

struct Plot {
  Ruler x;
  Ruler y;
  const Chart& chart;
  std::vector<Look> looks;                      // of the series
  std::vector<std::vector<ChartPoint>> points;  // of the series, thinned
};
Plot plot_of(const Chart& chart);

/// The right end of the x axis.
inline double right_of(const Chart& chart) {
  return chart.width - kRight - chart.legend;
}

/// A place in the picture, to a tenth of a unit.
inline std::string tenths(double value) {
  return decimals(value, 1);
}

std::string line_svg(double x1, double y1, double x2, double y2, const char* kind);
std::string text_svg(double x, double y, const char* anchor, const std::string& what,
                     const std::string& more = "");
/// A dot, in the shape of its series.
std::string dot_svg(double x, double y, const Look& look, const std::string& title = "");
/// Frame, grid, numbers and labels.
std::string axes_svg(const Plot& plot);

/// The class of a series' line.
const char* line_class(const Series& series);

/// "step 12, epoch 2", or a time.
std::string said(const Axis& axis, const ChartPoint& point);

}  // namespace tessera::pages
