#include "tessera/tensor/dtype.h"

#include <ostream>

namespace tessera {

const char* name(DType dtype) {
  switch (dtype) {
    case kBool:
      return "bool";
    case kInt64:
      return "int64";
    case kFloat32:
      return "float32";
    case kFloat64:
      return "float64";
  }
  __builtin_unreachable();
}

std::ostream& operator<<(std::ostream& out, DType dtype) {
  return out << name(dtype);
}

}  // namespace tessera
