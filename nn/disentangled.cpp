#include "tessera/nn/disentangled.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

#include "tessera/nn/attention.h"
#include "tessera/nn/detail/check.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/indexing.h"
#include "tessera/tensor/ops/matmul.h"

namespace tessera::nn {

namespace {

constexpr const char* kDisentangledOp = "Disentangled";

const DisentangledOptions& checked(const DisentangledOptions& options) {
  detail::require_size(kDisentangledOp, "span", options.span);
  const index_t least = options.span / 2 + 2;
  require(options.max_distance == 0 || options.max_distance >= least, kDisentangledOp,
          "max_distance must be 0 or at least ", least, " for a span of ", options.span, ", got ",
          options.max_distance);
  detail::require_probability(kDisentangledOp, "dropout", options.dropout);
  return options;
}

}  // namespace

index_t DisentangledOptions::column(index_t distance) const {
  const index_t middle = span / 2;
  const index_t far = std::abs(distance);
  index_t steps = far;
  if (max_distance > 0 && far > middle) {
    const auto ratio = [&](index_t a) {
      return std::log(static_cast<float>(a) / static_cast<float>(middle));
    };
    const float part = ratio(far) / ratio(max_distance - 1) * static_cast<float>(middle - 1);
    steps = middle + static_cast<index_t>(std::ceil(part));
  }
  return std::clamp(span + (distance < 0 ? -steps : steps), index_t{0}, 2 * span - 1);
}

Disentangled::Disentangled(const DisentangledOptions& its_options, index_t embed_dim, index_t width,
                           const ParameterSource& from)
    : options(checked(its_options)), dropout(options.dropout) {
  if (options.shared) return;
  const LinearOptions projection = {.in_features = embed_dim, .out_features = width};
  if (options.content_to_position) pos_key_proj.emplace(projection, from["pos_key_proj"]);
  if (options.position_to_content) pos_query_proj.emplace(projection, from["pos_query_proj"]);
}

Tensor Disentangled::operator()(const Tensor& q, const Tensor& k, const Tensor& vectors,
                                const Project& project) const {
  require(vectors.defined() && vectors.rank() == 2 && vectors.size(0) == 2 * options.span,
          kDisentangledOp, "vectors of distances must have shape (", 2 * options.span, ", D), got ",
          vectors.defined() ? str_cat(vectors.shape()) : "an undefined tensor");
  const index_t heads = q.size(1), queries = q.size(2), keys = k.size(2);
  // Only the rows that a distance reaches. The row of a pair is the same along a diagonal.
  const index_t first = options.column(1 - keys), last = options.column(queries - 1);
  std::vector<index_t> line;
  for (index_t i = 1 - queries; i < keys; ++i) line.push_back(options.column(-i) - first);
  const Tensor rows_of_pairs = from_vector(line).toeplitz(queries, keys);
  const Tensor rows = dropout(vectors.slice(0, first, last + 1).unsqueeze(0));
  // The products of x with the rows of its pairs.
  const auto term = [&](const Tensor& x, const std::optional<Linear>& own, bool with_keys,
                        const Tensor& pairs) {
    const Tensor projected = own ? (*own)(rows) : project(with_keys, rows);
    const Tensor by_row = matmul(x, split_heads(projected, heads).transpose(-1, -2));
    return gather(by_row, 3, pairs.expand({x.size(0), heads, pairs.size(0), pairs.size(1)}));
  };
  Tensor sum;
  if (options.content_to_position) sum = term(q, pos_key_proj, true, rows_of_pairs);
  if (options.position_to_content) {
    const Tensor by_keys = term(k, pos_query_proj, false, rows_of_pairs.transpose(0, 1));
    sum = sum.defined() ? sum + by_keys.transpose(-1, -2) : by_keys.transpose(-1, -2);
  }
  return sum;
}

}  // namespace tessera::nn
