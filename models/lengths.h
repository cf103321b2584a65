// The check of padded sequences' lengths that models share.
#pragma once

#include "tensor/tensor.h"

namespace tessera::models {

/// Throws, in the name of `op`, unless tokens are (B, T) and lengths undefined or B numbers of int64
/// from 1 to T.
void check_lengths(const char* op, const Tensor& tokens, const Tensor& lengths);

}  // namespace tessera::models
