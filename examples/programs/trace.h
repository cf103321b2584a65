// A trace: the steps that an encoder computes, one per line, to be compared with another trace.
//
//   # name                        shape   mean     deviation  first values
//   input                         2x9x32  -0.0123  0.987      0.25 -1.5 ...
//   layers.0.self_attn.in_proj    2x9x96  ...
//
// The columns are separated by blanks. Numbers have all their digits, means and deviations are those
// of all elements, and the first values are in the order of the elements. compare_trace reads it;
// trace_encoder.py writes the same from PyTorch.
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
  DType dtype = kFloat64;  // as which the first values are written
};

using Trace = std::vector<TraceStep>;

/// A line of a trace for `y`. Sums are in double, from the first element to the last.
TraceStep trace_step(const std::string& name, const Tensor& y);

/// A number with as few digits as read back as it.
std::string trace_number(double value);

/// Writes the file as a whole or not at all. **Errors**: as write_file.
void write_trace(const std::string& file, const Trace& trace);
/// **Errors**: a line that is not a step; no line at all. The message names file and line.
Trace read_trace(const std::string& file);

}  // namespace tessera::examples
