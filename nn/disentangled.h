// Disentangled attention: scores that also have terms between a token and a distance.
#pragma once

#include <functional>
#include <optional>

#include "tessera/nn/dropout.h"
#include "tessera/nn/linear.h"

namespace tessera::nn {

/// The terms of scores by distance. With q and k the query and the key of a head, and K^r and Q^r
/// the projections of a table's vectors,
///
///     score(i, j) = (q_i k_j + q_i K^r[c] + k_j Q^r[c]) / sqrt(d n)        c = column(i - j)
///
/// where n is the number of terms. The table has 2 `span` vectors.
/// **Errors**, where the options are used: a span below 1; a max_distance that is negative or,
/// unless it is 0, not above span / 2 + 1; a dropout outside [0, 1].
/// **Source**: He et al., "DeBERTa", 2021, section 3.1; for buckets, transformers.DebertaV2Model.
struct DisentangledOptions {
  index_t span;                     // DeBERTa-v2's position_buckets
  index_t max_distance = 0;         // 0: a vector for each distance, else buckets
  bool content_to_position = true;  // the term q_i K^r
  bool position_to_content = true;  // the term k_j Q^r
  bool shared = true;  // K^r and Q^r by the projections of keys and queries, else by separate ones
  double dropout = 0;  // of the vectors

  /// The row of the table for a key at i - j = `distance` from its query, from 0 to 2 span - 1.
  ///
  /// Let m = span / 2 and a = |distance|. Without buckets, or if a <= m, the row is span +
  /// distance. The other buckets hold wider and wider ranges: in float32,
  ///
  ///     row = span +- (m + ceil(log(a / m) / log((max_distance - 1) / m) (m - 1)))
  ///
  /// Rows outside the table become the first or the last row.
  index_t column(index_t distance) const;
};

/// The terms of the scores by distance, as a bias of the scores.
///
/// **Parameters**, unless `shared`: pos_key_proj and pos_query_proj, both Linear, for the terms
/// that exist.
/// **Errors**: those of DisentangledOptions; vectors that are not (2 span, D).
/// **Source**: as DisentangledOptions.
struct Disentangled {
  /// The keys (true) or the queries (false) of vectors (1, R, D), (1, R, H d).
  using Project = std::function<Tensor(bool keys, const Tensor& vectors)>;

  DisentangledOptions options;
  std::optional<Linear> pos_key_proj, pos_query_proj;
  Dropout dropout;

  /// For inputs of `embed_dim` columns, and heads with `width` columns together.
  Disentangled(const DisentangledOptions& options, index_t embed_dim, index_t width,
               const ParameterSource& from = default_rng());

  /// The bias, without the factor of the scores. `vectors` is the table; `project` is called only
  /// if `shared`.
  /// **Shapes**: q (B, H, Tq, d), k (B, H, Tk, d), vectors (2 span, D) -> (B, H, Tq, Tk); undefined
  /// if there are no terms.
  Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& vectors,
                    const Project& project) const;
  /// The number of terms of a score, 1 to 3.
  index_t terms() const { return 1 + options.content_to_position + options.position_to_content; }

  static void visit(auto& self, auto&& visitor) {
    visitor("pos_key_proj", self.pos_key_proj);
    visitor("pos_query_proj", self.pos_query_proj);
    visitor("distance_dropout", self.dropout);
  }
};

}  // namespace tessera::nn
