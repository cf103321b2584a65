// Numbers as NumPy writes them, for print.h.
#pragma once

#include <string>
#include <vector>

#include "tensor/kernels/types.h"

namespace tessera {

/// Right-aligned to one width.
std::vector<std::string> format_integers(const std::vector<index_t>& values);

/// Padded so that the points are aligned; all with an exponent, or all without. The rules are those
/// of to_string (print.h). T is float or double.
template <class T>
std::vector<std::string> format_floats(const std::vector<T>& values, int precision, bool suppress);

/// One number with the fewest digits that identify it, as Python writes it: "0.1", "1e-05",
/// "1e+16", "nan". T is float or double.
template <class T>
std::string format_scalar(T value);

}  // namespace tessera
