#include "tensor/io/detail/elements.h"

#include "tensor/error.h"

namespace tessera {

index_t stored_bytes(const Shape& shape, index_t item, const std::string& place) {
  index_t bytes = 8;  // the size of the largest element after loading
  bool has_zero = false;
  for (const index_t size : shape) {
    has_zero = has_zero || size == 0;
    if (__builtin_mul_overflow(bytes, std::max<index_t>(size, 1), &bytes)) {
      fail_file(place, "number of bytes must fit int64, got shape ", shape);
    }
  }
  return has_zero ? 0 : bytes / 8 * item;
}

}  // namespace tessera
