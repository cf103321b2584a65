#include "tessera/models/pages/run_log.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <utility>

#include "tessera/models/pages/detail/numbers.h"
#include "tessera/tensor/detail/parse_number.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/file.h"

namespace tessera::pages {

namespace {

using Cells = std::vector<std::string_view>;
using LoggedValue = std::optional<double> LoggedStep::*;

constexpr std::pair<std::string_view, LoggedValue> kValues[] = {
    {"learning_rate", &LoggedStep::learning_rate},
    {"gradient_norm", &LoggedStep::gradient_norm},
    {"tokens", &LoggedStep::tokens},
    {"seconds", &LoggedStep::seconds},
    {"accuracy", &LoggedStep::accuracy},
    {"held_out_loss", &LoggedStep::held_out_loss},
    {"held_out_accuracy", &LoggedStep::held_out_accuracy},
};

Cells cells_of(std::string_view line) {
  Cells cells;
  for (;;) {
    const std::size_t comma = line.find(',');
    cells.push_back(line.substr(0, comma));
    if (comma == std::string_view::npos) return cells;
    line.remove_prefix(comma + 1);
  }
}

/// A line of a log, in errors.
struct Line {
  const std::string& file;
  index_t number;

  template <class... Parts>
  [[noreturn]] void refuse(const Parts&... parts) const {
    fail_file(file, "line ", number, ": ", parts...);
  }
  double value(std::string_view name, std::string_view cell) const {
    double value = 0;
    if (!parse_number(cell, value)) refuse(name, ": must be a number, got ", printable(cell));
    return value;
  }
  index_t whole(std::string_view name, std::string_view cell) const {
    constexpr double kMost = 1e15;
    const double found = value(name, cell);
    if (!(found >= 0 && found <= kMost) || found != std::trunc(found)) {
      refuse(name, ": must be an integer, got ", printable(cell));
    }
    return static_cast<index_t>(found);
  }
};

void check_header(const Cells& names, const Line& line) {
  const auto has = [&](const char* name) { return std::ranges::count(names, name) > 0; };
  if (has("step") && has("loss")) return;
  std::string text;
  for (const std::string_view name : names) text += (text.empty() ? "" : ",") + std::string(name);
  line.refuse("header must have the columns step and loss, got ", printable(text));
}

LoggedStep step_of(const Cells& names, const Cells& cells, const Line& line) {
  if (cells.size() != names.size()) {
    line.refuse("must have ", names.size(), " cells as the header, got ", cells.size());
  }
  LoggedStep step;
  for (std::size_t i = 0; i < names.size(); ++i) {
    if (names[i] == "step") step.step = line.whole(names[i], cells[i]);
    if (names[i] == "loss") step.loss = line.value(names[i], cells[i]);
    if (cells[i].empty()) continue;
    if (names[i] == "epoch") step.epoch = line.whole(names[i], cells[i]);
    for (const auto& [name, member] : kValues) {
      if (names[i] == name) step.*member = line.value(name, cells[i]);
    }
  }
  return step;
}

/// Takes the value over where it is a number that `is_better`.
template <class IsBetter>
void take_best(std::optional<AtStep>& best, index_t step, double value, const IsBetter& is_better) {
  if (std::isnan(value) || (best && !is_better(value, best->value))) return;
  best = AtStep{step, value};
}

}  // namespace

std::string run_log_line(const LoggedStep& step) {
  const auto cell = [](const std::optional<double>& value) {
    return value ? "," + number_text(*value) : std::string(",");
  };
  return str_cat(step.step, ",", step.epoch, ",", number_text(step.loss), cell(step.learning_rate),
                 cell(step.gradient_norm), cell(step.tokens), ",",
                 step.seconds ? decimals(*step.seconds, 3) : std::string(), cell(step.accuracy),
                 cell(step.held_out_loss), cell(step.held_out_accuracy), "\n");
}

std::vector<LoggedStep> read_run_log(std::string_view text, const std::string& file) {
  std::vector<LoggedStep> steps;
  if (text.empty()) {
    fail_file(file, "line 1: header must have the columns step and loss, got an empty file");
  }
  Cells names;
  for (index_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    if (end == std::string_view::npos && number > 1) break;
    std::string_view row = text.substr(0, end);
    text.remove_prefix(std::min(row.size() + 1, text.size()));
    if (row.ends_with('\r')) row.remove_suffix(1);
    const Line line = {file, number};
    if (number == 1) {
      names = cells_of(row);
      check_header(names, line);
      continue;
    }
    const LoggedStep step = step_of(names, cells_of(row), line);
    if (!steps.empty() && step.step <= steps.back().step) {
      line.refuse("step must be greater than ", steps.back().step, ", got ", step.step);
    }
    steps.push_back(step);
  }
  return steps;
}

RunSummary summary_of(std::span<const LoggedStep> steps) {
  RunSummary summary;
  const bool has_held_out = std::any_of(steps.begin(), steps.end(), [](const LoggedStep& step) {
    return step.held_out_accuracy.has_value();
  });
  double tokens = 0;
  for (const LoggedStep& step : steps) {
    summary.steps = step.step;
    summary.epochs = step.epoch;
    summary.last_loss = AtStep{step.step, step.loss};
    take_best(summary.best_loss, step.step, step.loss, std::less<>());
    if (step.held_out_loss) {
      summary.last_held_out = AtStep{step.step, *step.held_out_loss};
      take_best(summary.best_held_out, step.step, *step.held_out_loss, std::less<>());
    }
    if (const auto& accuracy = has_held_out ? step.held_out_accuracy : step.accuracy) {
      summary.last_accuracy = AtStep{step.step, *accuracy};
      take_best(summary.best_accuracy, step.step, *accuracy, std::greater<>());
    }
    tokens += step.tokens.value_or(0);
  }
  if (steps.empty() || !steps.back().seconds) return summary;
  summary.seconds = elapsed(steps).back();
  if (tokens > 0 && *summary.seconds > 0) summary.tokens_per_second = tokens / *summary.seconds;
  return summary;
}

std::vector<double> elapsed(std::span<const LoggedStep> steps) {
  std::vector<double> times;
  double before = 0;  // of former calls
  double last = 0;
  for (const LoggedStep& step : steps) {
    const double seconds = step.seconds.value_or(last);
    if (seconds < last) before += last;
    last = seconds;
    times.push_back(before + last);
  }
  return times;
}

}  // namespace tessera::pages
