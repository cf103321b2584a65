// Numbers and tables as text, the same in every locale. print.h prints tensors.
#pragma once

#include <cstddef>
#include <string>
#include <vector>

#include "tessera/tensor/kernels/types.h"

namespace tessera {

/// The number with the fewest digits that read back as the same number: "0.1", "12", "1e-07".
std::string shortest(float value);
std::string shortest(double value);

/// The number with `digits` digits after the point, correctly rounded: decimals(2.0 / 3, 2) is
/// "0.67"; "nan" and "inf" too.
std::string decimals(double value, int digits);

/// The number with at most `digits` significant digits, correctly rounded: "0.6667", "1.5e-07".
std::string significant(double value, int digits);

/// One number with the fewest digits that identify it, as Python writes it: "0.1", "1.0", "1e-05",
/// "1e+16", "nan". T is float or double.
template <class T>
std::string format_scalar(T value);

/// The numbers as NumPy writes those of an array, padded so that the points are aligned; all with
/// an exponent, or all without. The rules are those of to_string (print.h). T is float or double.
template <class T>
std::vector<std::string> format_floats(const std::vector<T>& values, int precision, bool suppress);

/// The numbers as NumPy writes those of an array: aligned to the right.
std::vector<std::string> format_integers(const std::vector<index_t>& values);

/// The rows in columns two blanks apart: the first `texts` columns are aligned to the left, the
/// others to the right, without blanks at the ends of lines. No row may be longer than the first.
std::string in_columns(const std::vector<std::vector<std::string>>& rows, std::size_t texts);

}  // namespace tessera
