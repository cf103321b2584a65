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

/// The shortest text that reads as this number.
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

/// The cells of a line, separated by blanks.
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

}  // namespace tessera::examples
