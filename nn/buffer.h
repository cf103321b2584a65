// Constants of a module.
#pragma once

#include "tensor/tensor.h"

namespace tessera::nn {

/// A constant that a module names in `visit`, as a table of positions: no parameter, without a
/// gradient and in no file, but in the dtype that `convert` gives the module: float32 at first,
/// whatever the constant's dtype.
///
/// Each value is rounded from the constant as it was given, so that a way to another dtype and back
/// loses nothing. A constant that is not floating keeps its dtype. Copies share the elements.
/// **Source**: torch.nn.Module.register_buffer(persistent=False).
class Buffer {
 public:
  Buffer() = default;
  explicit Buffer(const Tensor& exact, DType dtype = kFloat32) : exact_(exact.detach()) {
    convert(dtype);
  }

  /// In the module's dtype; undefined if nothing was given.
  const Tensor& value() const { return value_; }
  /// As it was given.
  const Tensor& exact() const { return exact_; }

  void convert(DType dtype) {
    const bool follows = exact_.defined() && is_floating(exact_.dtype());
    value_ = follows ? exact_.to(dtype) : exact_;
  }

 private:
  Tensor exact_;
  Tensor value_;
};

}  // namespace tessera::nn
