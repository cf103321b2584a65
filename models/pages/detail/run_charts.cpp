#include "models/pages/detail/run_charts.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <utility>

namespace tessera::pages {

namespace {

using Value = std::function<std::optional<double>(const LoggedStep&)>;

Value value_of(std::optional<double> LoggedStep::*member) {
  return [member](const LoggedStep& step) { return step.*member; };
}

std::optional<double> loss_of(const LoggedStep& step) {
  return step.loss;
}

/// The value over the steps that have it.
Series series_of(const NamedRun& run, const std::string& name, const Value& value, Mark mark) {
  Series series = {.name = name, .mark = mark};
  for (const LoggedStep& step : run.steps) {
    if (const std::optional<double> y = value(step)) {
      series.points.push_back({.x = static_cast<double>(step.step), .y = *y, .epoch = step.epoch});
    }
  }
  return series;
}

/// Logarithmic where the values are positive and far apart.
Scale scale_for(const std::vector<Series>& series) {
  constexpr double kFar = 20;
  double low = std::numeric_limits<double>::infinity(), high = 0;
  for (const Series& each : series) {
    for (const ChartPoint& point : each.points) {
      if (!std::isfinite(point.y)) continue;
      low = std::min(low, point.y);
      high = std::max(high, point.y);
    }
  }
  return low > 0 && high / low >= kFar ? Scale::kLog10 : Scale::kLinear;
}

/// Adds a chart of these series, unless none has a point. All stay, so that a run has one colour.
void add(std::vector<Chart>& charts, const std::string& title, const Axis& x, const Axis& y,
         std::vector<Series> series) {
  const auto is_empty = [](const Series& each) { return each.points.empty(); };
  if (std::all_of(series.begin(), series.end(), is_empty)) return;
  charts.push_back({.title = title,
                    .x = x,
                    .y = y,
                    .series = std::move(series),
                    .width = 360,  // chart.css
                    .height = 240});
}

/// From the first step of all runs to the last: the same for all charts.
Axis steps_of(std::span<const NamedRun> runs) {
  Axis axis = {.label = "step", .whole = true};
  for (const NamedRun& run : runs) {
    if (run.steps.empty()) continue;
    const auto first = static_cast<double>(run.steps.front().step);
    const auto last = static_cast<double>(run.steps.back().step);
    axis.low = std::min(axis.low.value_or(first), first);
    axis.high = std::max(axis.high.value_or(last), last);
  }
  return axis;
}

Axis share() {
  return {.label = "accuracy", .low = 0, .high = 1};
}

/// An axis of values that are not known to lie in a range.
Axis axis_for(const std::string& label, const std::vector<Series>& series) {
  return {.label = label, .scale = scale_for(series)};
}

/// One series for each run.
std::vector<Series> of_all(std::span<const NamedRun> runs, const Value& value, Mark mark) {
  std::vector<Series> series;
  for (const NamedRun& run : runs) {
    series.push_back(series_of(run, run.name, value, mark));
    series.back().group = run.setting;
    series.back().member = run.seed;
  }
  return series;
}

void add_rate_and_norm(std::vector<Chart>& charts, std::span<const NamedRun> runs) {
  add(charts, "Learning rate", steps_of(runs), {.label = "learning rate"},
      of_all(runs, value_of(&LoggedStep::learning_rate), Mark::kLine));
  auto norms = of_all(runs, value_of(&LoggedStep::gradient_norm), Mark::kLine);
  const Axis norm = axis_for("norm", norms);
  add(charts, "Norm of the gradient, before clipping", steps_of(runs), norm, std::move(norms));
  std::vector<Series> speed;
  for (const NamedRun& run : runs) {
    speed.push_back(
        {.name = run.name, .points = speeds(run.steps), .group = run.setting, .member = run.seed});
  }
  add(charts, "Speed, with the time of evaluations", steps_of(runs),
      {.label = "tokens per second", .low = 0}, std::move(speed));
}

std::vector<Chart> charts_of_one(const NamedRun& run) {
  std::vector<Chart> charts;
  const auto both = [&](const Value& learned, const Value& held_out) {
    std::vector<Series> series;
    series.push_back(series_of(run, "training", learned, Mark::kLine));
    series.push_back(series_of(run, "held out", held_out, Mark::kLineAndDots));
    if (series.back().points.empty()) series.pop_back();
    return series;
  };
  auto losses = both(loss_of, value_of(&LoggedStep::held_out_loss));
  const Axis loss = axis_for("loss", losses);
  add(charts, "Loss", steps_of(std::span(&run, 1)), loss, std::move(losses));
  add(charts, "Accuracy", steps_of(std::span(&run, 1)), share(),
      both(value_of(&LoggedStep::accuracy), value_of(&LoggedStep::held_out_accuracy)));
  add_rate_and_norm(charts, std::span(&run, 1));
  return charts;
}

std::vector<Chart> charts_of_many(std::span<const NamedRun> runs) {
  std::vector<Chart> charts;
  auto losses = of_all(runs, loss_of, Mark::kLine);
  auto held_out = of_all(runs, value_of(&LoggedStep::held_out_loss), Mark::kLineAndDots);
  const Axis loss = axis_for("loss", losses), held_out_loss = axis_for("loss", held_out);
  std::vector<Series> over_time = losses;
  for (std::size_t i = 0; i < runs.size(); ++i) {
    if (runs[i].steps.empty() || !runs[i].steps.back().seconds) {
      over_time[i].points.clear();
      continue;
    }
    const std::vector<double> times = elapsed(runs[i].steps);
    for (std::size_t j = 0; j < times.size(); ++j) over_time[i].points[j].x = times[j];
  }
  add(charts, "Loss in training", steps_of(runs), loss, std::move(losses));
  add(charts, "Loss of held-out examples", steps_of(runs), held_out_loss, std::move(held_out));
  add(charts, "Accuracy in training", steps_of(runs), share(),
      of_all(runs, value_of(&LoggedStep::accuracy), Mark::kLine));
  add(charts, "Accuracy of held-out examples", steps_of(runs), share(),
      of_all(runs, value_of(&LoggedStep::held_out_accuracy), Mark::kLineAndDots));
  add(charts, "Loss in training over time", {.label = "time", .low = 0, .is_time = true}, loss,
      std::move(over_time));
  add_rate_and_norm(charts, runs);
  return charts;
}

}  // namespace

std::vector<Chart> run_charts(std::span<const NamedRun> runs) {
  return runs.size() == 1 ? charts_of_one(runs.front()) : charts_of_many(runs);
}

std::vector<ChartPoint> speeds(std::span<const LoggedStep> steps) {
  std::vector<ChartPoint> points;
  if (steps.empty() || !steps.back().seconds) return points;
  constexpr double kStretches = 100;
  const std::vector<double> times = elapsed(steps);
  const double least = times.back() / kStretches;
  double begin = 0, tokens = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    tokens += steps[i].tokens.value_or(0);
    const double seconds = times[i] - begin;
    if (seconds <= 0 || seconds < least || tokens == 0) continue;
    points.push_back(
        {.x = static_cast<double>(steps[i].step), .y = tokens / seconds, .epoch = steps[i].epoch});
    begin = times[i];
    tokens = 0;
  }
  return points;
}

}  // namespace tessera::pages
