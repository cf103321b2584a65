// The header of a .npy file: a Python dict literal such as
//
//   {'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }
#pragma once

#include <string>
#include <string_view>

#include "tensor/shape.h"

namespace tessera {

struct NpyHeader {
  std::string descr;  // byte order, kind and size: "<f4"
  bool fortran_order = false;
  Shape shape;
};

/// Reads the dict: exactly these three keys, in any order, then white space only.
/// **Errors**: std::runtime_error with `file` and the place.
NpyHeader parse_npy_header(std::string_view text, const std::string& file);

/// As numpy.save writes it, up to the closing brace.
std::string format_npy_header(const NpyHeader& header);

}  // namespace tessera
