#include "tessera/tensor/ops/operand.h"

#include "tessera/tensor/ops/detail/map.h"

namespace tessera {

DType promote(const char* op, const Operand& a, const Operand& b) {
  for (const Operand* each : {&a, &b}) {
    if (each->tensor() != nullptr) detail::require_defined(op, *each->tensor());
  }
  if (b.tensor() == nullptr) return b.number().dtype_with(a.dtype());
  return a.tensor() == nullptr ? a.number().dtype_with(b.dtype()) : promote(a.dtype(), b.dtype());
}

}  // namespace tessera
