#include "models/lengths.h"

#include "tensor/error.h"

namespace tessera::models {

void check_lengths(const char* op, const Tensor& tokens, const Tensor& lengths) {
  require(tokens.defined() && tokens.rank() == 2, op, "expected tokens (B, T)",
          tokens.defined() ? format(", not ", tokens.shape()) : "");
  if (!lengths.defined()) return;
  require(lengths.rank() == 1 && lengths.dtype() == kInt64 && lengths.size(0) == tokens.size(0), op,
          "expected lengths ", Shape{tokens.size(0)}, " of int64, not ", lengths.shape(), " of ",
          lengths.dtype());
  for (index_t length : lengths.to_vector<index_t>()) {
    require(1 <= length && length <= tokens.size(1), op, "a length of ", length,
            " in a batch with ", tokens.size(1), " tokens a row");
  }
}

}  // namespace tessera::models
