#include "examples/programs/trace.h"

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <limits>
#include <span>
#include <sstream>

#include "examples/programs/command.h"
#include "tensor/detail/parse_number.h"
#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::examples {

namespace {

constexpr index_t kFirstValues = 8;

/// The shortest text that reads back as this number.
template <class T>
std::string number_text(T value) {
  if (std::isnan(value)) return "nan";
  std::array<char, 64> text;
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

std::string shape_text(const Shape& shape) {
  std::string text;
  for (const index_t size : shape) text += (text.empty() ? "" : "x") + std::to_string(size);
  return text.empty() ? "scalar" : text;
}

/// The cells of a line, which blanks separate.
std::vector<std::string> cells_of(const std::string& line) {
  std::istringstream in(line);
  std::vector<std::string> cells;
  for (std::string cell; in >> cell;) cells.push_back(cell);
  return cells;
}

double number_of(const std::string& cell, const std::string& file, std::size_t line) {
  double value = 0;
  if (!parse_number(cell, value)) {
    fail_file(file, "line ", line, ": must be a number, got ", printable(cell));
  }
  return value;
}

std::vector<std::string> cells_of(const TraceStep& step) {
  std::string first;
  for (const double value : step.first) {
    if (!first.empty()) first += ' ';
    first += step.dtype == kFloat32 ? number_text(static_cast<float>(value)) : number_text(value);
  }
  return {step.name, step.shape, number_text(step.mean), number_text(step.deviation), first};
}

/// |a - b|, 0 if both are equal or NaN.
double distance(double a, double b) {
  if (a == b || (std::isnan(a) && std::isnan(b))) return 0;
  return std::abs(a - b);
}

TraceDifference difference(std::size_t step, std::string what, double a, double b,
                           const Tolerance& tolerance) {
  return {.step = step,
          .what = std::move(what),
          .a = a,
          .b = b,
          .by = distance(a, b),
          .allowed = tolerance.atol + (std::isfinite(b) ? tolerance.rtol * std::abs(b) : 0)};
}

/// Whether `x` is closer to the tolerance than `y`, or further beyond it.
bool is_further(const TraceDifference& x, const TraceDifference& y) {
  if (x.parts() != y.parts()) return x.parts();
  return x.by * y.allowed > y.by * x.allowed || (x.by > y.by && x.allowed == y.allowed);
}

/// The number of a step that differs most.
TraceDifference furthest(std::size_t i, const TraceStep& a, const TraceStep& b,
                         const Tolerance& tolerance) {
  TraceDifference most = difference(i, "mean", a.mean, b.mean, tolerance);
  const auto look = [&](TraceDifference next) {
    if (is_further(next, most)) most = std::move(next);
  };
  look(difference(i, "deviation", a.deviation, b.deviation, tolerance));
  for (std::size_t n = 0; n < a.first.size(); ++n) {
    look(difference(i, "first value " + std::to_string(n), a.first[n], b.first[n], tolerance));
  }
  return most;
}

}  // namespace

std::string trace_number(double value) {
  return number_text(value);
}

TraceStep trace_step(const std::string& name, const Tensor& y) {
  const Tensor wide = y.to(kFloat64).contiguous();
  const std::span values(wide.data<double>(), static_cast<std::size_t>(wide.count()));
  TraceStep step;
  step.name = name;
  step.shape = shape_text(y.shape());
  step.dtype = y.dtype();
  step.mean = step.deviation = std::numeric_limits<double>::quiet_NaN();
  if (values.empty()) return step;
  const auto n = static_cast<double>(values.size());
  double sum = 0;
  for (const double value : values) sum += value;
  step.mean = sum / n;
  double squares = 0;
  for (const double value : values) squares += (value - step.mean) * (value - step.mean);
  step.deviation = std::sqrt(squares / n);
  const auto first = values.first(std::min<std::size_t>(kFirstValues, values.size()));
  step.first.assign(first.begin(), first.end());
  return step;
}

void write_trace(const std::string& file, const Trace& trace) {
  std::vector<std::vector<std::string>> rows = {
      {"# name", "shape", "mean", "deviation", "first values"}};
  for (const TraceStep& step : trace) rows.push_back(cells_of(step));
  std::array<std::size_t, 4> widths = {};
  for (const auto& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) widths[i] = std::max(widths[i], row[i].size());
  }
  std::string text;
  for (auto& row : rows) {
    for (std::size_t i = 0; i < widths.size(); ++i) {
      row[i].resize(widths[i], ' ');
      text += row[i] + "  ";
    }
    text += row.back() + '\n';
  }
  write_text(file, text);
}

Trace read_trace(const std::string& file) {
  Trace trace;
  std::size_t number = 0;
  for (const std::string& line : input_lines(file)) {
    ++number;
    const std::vector<std::string> cells = cells_of(line);
    if (cells.empty() || cells[0].starts_with('#')) continue;
    if (cells.size() < 4) {
      fail_file(file, "line ", number,
                ": must have name, shape, mean, deviation and first values, got ", printable(line));
    }
    TraceStep step;
    step.name = cells[0];
    step.shape = cells[1];
    step.mean = number_of(cells[2], file, number);
    step.deviation = number_of(cells[3], file, number);
    for (std::size_t i = 4; i < cells.size(); ++i) {
      step.first.push_back(number_of(cells[i], file, number));
    }
    trace.push_back(std::move(step));
  }
  if (trace.empty()) fail_file(file, "must have a step of a trace, got none");
  return trace;
}

TraceDifference compare(const std::string& a_file, const Trace& a, const std::string& b_file,
                        const Trace& b, const Tolerance& tolerance) {
  TraceDifference most = difference(0, "mean", a[0].mean, a[0].mean, tolerance);
  for (std::size_t i = 0; i < std::max(a.size(), b.size()); ++i) {
    if (i >= a.size() || i >= b.size()) {
      const bool a_ends = i >= a.size();
      fail_file(a_ends ? a_file : b_file, "step ", i + 1, ": must be ",
                printable((a_ends ? b : a)[i].name), " as in ", a_ends ? b_file : a_file,
                ", got the end of the file");
    }
    if (a[i].name != b[i].name) {
      fail_file(b_file, "step ", i + 1, ": must be ", printable(a[i].name), " as in ", a_file,
                ", got ", printable(b[i].name));
    }
    if (a[i].shape != b[i].shape || a[i].first.size() != b[i].first.size()) {
      fail_file(b_file, "step ", i + 1, ": ", printable(a[i].name), " must have the shape ",
                printable(a[i].shape), " and ", a[i].first.size(), " first values as in ", a_file,
                ", got ", printable(b[i].shape), " and ", b[i].first.size());
    }
    TraceDifference next = furthest(i, a[i], b[i], tolerance);
    if (next.parts()) return next;
    if (is_further(next, most)) most = std::move(next);
  }
  return most;
}

}  // namespace tessera::examples
