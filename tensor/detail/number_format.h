// Numbers as NumPy writes them: the words that print.h lays out.
#pragma once

#include <string>
#include <vector>

#include "tensor/kernels/types.h"

namespace tessera {

/// Right-aligned to one width.
std::vector<std::string> format_integers(const std::vector<index_t>& values);

/// Padded so that the points stand below each other; all with an exponent or none. The rules are
/// to_string's (print.h). T is float or double.
template <class T>
std::vector<std::string> format_floats(const std::vector<T>& values, int precision, bool suppress);

/// One number with as many digits as tell it from its neighbours, as Python writes it: "0.1",
/// "1e-05", "1e+16", "nan". T is float or double.
template <class T>
std::string format_scalar(T value);

}  // namespace tessera
