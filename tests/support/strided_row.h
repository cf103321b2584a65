// A row with a stride between guards, for tests of kernels that take any stride.
#pragma once

#include <cstdlib>
#include <vector>

#include "tests/support/support.h"

namespace tessera::test {

/// A row of `values` laid out with a stride; only its elements may be read. Stride 0 repeats the
/// first.
template <class T>
class StridedRow {
 public:
  StridedRow(const std::vector<T>& values, index_t stride, index_t offset)
      : n_(static_cast<index_t>(values.size())),
        stride_(stride),
        memory_(n_ == 0 ? 0 : (n_ - 1) * std::abs(stride) + 1, offset) {
    for (index_t i = 0; i < n_; ++i) {
      first()[i * stride] = values[stride == 0 ? 0 : static_cast<std::size_t>(i)];
    }
  }
  T* first() { return memory_.data() + (stride_ < 0 ? (n_ - 1) * -stride_ : 0); }
  std::vector<T> values() {
    std::vector<T> result;
    for (index_t i = 0; i < n_; ++i) result.push_back(first()[i * stride_]);
    return result;
  }

 private:
  index_t n_;
  index_t stride_;
  Guarded<T> memory_;
};

/// Lengths near those of every vector, and of the blocks into which strided rows are copied.
inline constexpr index_t kRowLengths[] = {0,  1,  2,  3,  4,  5,  7,   8,   9,   15,
                                          16, 17, 31, 33, 63, 65, 511, 513, 1100};
inline constexpr index_t kRowStrides[] = {1, 0, 2, 5, -3};

}  // namespace tessera::test
