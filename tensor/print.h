// Tensors as text, exactly as NumPy prints arrays (checked against NumPy 1.24).
//
//   Tensor x = tensor({{1.0, 2.5}, {3.0, 4.0}}, kFloat64);
//   std::cout << x;     // [[1.  2.5]
//                       //  [3.  4. ]]
//   repr(x)             // array([[1. , 2.5],
//                       //        [3. , 4. ]])
#pragma once

#include <iosfwd>
#include <string>

#include "tessera/tensor/tensor.h"

namespace tessera {

/// Print options, with the names, meanings and defaults of numpy.set_printoptions.
struct PrintOptions {
  int precision = 8;         // at most this many digits after the point
  index_t threshold = 1000;  // a tensor with more elements is shown by its corners only
  index_t edgeitems = 3;     // shown at each end of a shortened axis
  int linewidth = 75;        // the most characters of a line
  bool suppress = false;     // small numbers do not cause exponents
};

/// The elements in nested brackets, as NumPy's `str(array)`.
///
/// Each number has the fewest digits that identify it in its dtype, correctly rounded to at most
/// `precision` digits after the point, and all numbers are padded to one width. All numbers of
/// a tensor get an exponent if the largest absolute value is >= 1e8, or, unless `suppress`, if the
/// smallest that is not zero is < 1e-4 or less than 1/1000 of the largest. A tensor of shape ()
/// prints as a plain number with all its digits. An undefined tensor prints as "undefined".
///
/// **Shapes**: any. **Errors**: a negative precision, or edgeitems below 1.
/// **Source**: the behaviour of numpy.array2string.
std::string to_string(const Tensor& tensor, const PrintOptions& options = {});

/// As to_string, but as NumPy's `repr(array)`: `array([1., 2.], dtype=float32)`.
std::string repr(const Tensor& tensor, const PrintOptions& options = {});

/// Prints to_string(tensor).
std::ostream& operator<<(std::ostream& out, const Tensor& tensor);

}  // namespace tessera
