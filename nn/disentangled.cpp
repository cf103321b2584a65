#include "tessera/nn/disentangled.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <vector>

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
  constexpr index_t kMostRows = index_t{1} << 22;  // neighbouring distances still differ in float32
  require(options.span <= kMostRows, kDisentangledOp, "span must be at most ", kMostRows, ", got ",
          options.span);
  const index_t least = options.span / 2 + 2;
  require(options.max_distance == 0 || (options.span > 1 && options.max_distance >= least),
          kDisentangledOp, "max_distance must be 0, or at least ", least,
          " with a span of at least 2, got ", options.max_distance, " and span ", options.span);
  detail::require_probability(kDisentangledOp, "dropout", options.dropout);
  return options;
}

}  // namespace

index_t DisentangledOptions::row_of(index_t distance) const {
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

Disentangled::Disentangled(const DisentangledOptions& given, index_t embed_dim, index_t width,
                           const ParameterSource& from)
    : options(checked(given)), dropout(options.dropout) {
  if (options.shared) return;
  const LinearOptions projection = {.in_features = embed_dim, .out_features = width};
  if (options.content_to_position) pos_key_proj.emplace(projection, from["pos_key_proj"]);
  if (options.position_to_content) pos_query_proj.emplace(projection, from["pos_query_proj"]);
}

Tensor Disentangled::rows(index_t queries, index_t keys, const Tensor& table) const {
  require(table.defined() && table.rank() == 2 && table.size(0) == 2 * options.span,
          kDisentangledOp, "table of distances must have shape (", 2 * options.span, ", D), got ",
          table.defined() ? str_cat(table.shape()) : "an undefined tensor");
  const index_t first = options.row_of(1 - keys), last = options.row_of(queries - 1);
  return dropout(table.slice(0, first, last + 1).unsqueeze(0));
}

Tensor Disentangled::operator()(const Tensor& q, const Tensor& k, const Tensor& row_keys,
                                const Tensor& row_queries) const {
  const index_t batch = q.size(0), heads = q.size(1), queries = q.size(2), keys = k.size(2);
  // The row of a pair of tokens depends only on i - j, so the matrix of rows is Toeplitz.
  const index_t first = options.row_of(1 - keys);
  std::vector<index_t> line;
  for (index_t i = 1 - queries; i < keys; ++i) line.push_back(options.row_of(-i) - first);
  const Tensor row_of_pair = from_vector(line).toeplitz(queries, keys);
  // The products of each x with the rows of its pairs.
  const auto term = [&](const Tensor& x, const Tensor& rows, const Tensor& chosen) {
    const Tensor products = matmul(x, rows.transpose(-1, -2));
    return gather(products, 3, chosen.expand({batch, heads, chosen.size(0), chosen.size(1)}));
  };
  Tensor sum;
  if (options.content_to_position) sum = term(q, row_keys, row_of_pair);
  if (options.position_to_content) {
    const Tensor by_keys = term(k, row_queries, row_of_pair.transpose(0, 1)).transpose(-1, -2);
    sum = sum.defined() ? sum + by_keys : by_keys;
  }
  return sum;
}

}  // namespace tessera::nn
