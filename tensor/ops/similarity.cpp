#include "tensor/ops/similarity.h"

#include "tensor/ops/arithmetic.h"
#include "tensor/ops/detail/map.h"
#include "tensor/ops/reduce.h"

namespace tessera {

Tensor cosine_similarity(const Tensor& a, const Tensor& b, index_t axis, double eps) {
  detail::require_defined("cosine_similarity", a);
  detail::require_defined("cosine_similarity", b);
  require(eps >= 0, "cosine_similarity", "eps must be at least 0, got ", eps);
  const Shape shape = broadcast_shapes("cosine_similarity", a.shape(), b.shape());
  const index_t along = normalize_axis("cosine_similarity", axis, shape.size());
  const DType dtype = floating(promote(a.dtype(), b.dtype()));
  const auto unit = [&](const Tensor& x) {
    const Tensor vectors = x.to(dtype).expand(shape);
    return vectors / maximum(norm(vectors, {along}, true), eps);
  };
  return sum(unit(a) * unit(b), {along});
}

}  // namespace tessera
