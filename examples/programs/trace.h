// A trace: the steps that an encoder computes, one per line, for comparison with another trace.
//
//   # name                        shape   mean     deviation  first values
//   input                         2x9x32  -0.0123  0.987      0.25 -1.5 ...
//   layers.0.self_attn.in_proj    2x9x96  ...
//
// The columns are separated by blanks. Numbers have all their digits, means and deviations are over
// all elements, and the first values are in the order of the elements. compare_trace reads the
// file; trace_encoder.py writes the same for PyTorch.
#pragma once

#include <string>
#include <vector>

#include "tensor/tensor.h"

namespace tessera::examples {

struct TraceStep {
  std::string name;
  std::string shape;  // "2x9x32"
  double mean = 0;
  double deviation = 0;  // root of the mean of the squared distances from the mean
  std::vector<double> first;
  DType dtype = kFloat64;  // in which the first values are written
};

using Trace = std::vector<TraceStep>;

/// A line of a trace for `y`. Sums are in double, from the first element to the last.
TraceStep trace_step(const std::string& name, const Tensor& y);

/// A number with the fewest digits that read as the same number.
std::string trace_number(double value);

/// Writes the file completely or not at all. **Errors**: as write_file.
void write_trace(const std::string& file, const Trace& trace);
/// **Errors**: a line that is not a step; no lines. The message names file and line.
Trace read_trace(const std::string& file);

}  // namespace tessera::examples
