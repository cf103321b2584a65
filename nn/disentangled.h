// Disentangled attention: scores with further terms, between a token and a distance.
#pragma once

#include <optional>

#include "tessera/nn/dropout.h"
#include "tessera/nn/linear.h"

namespace tessera::nn {

/// Disentangled attention adds terms between contents and distances to the scores. With q and k the
/// queries and keys of a head, and K^r and Q^r the projections of a table with a row for each
/// distance,
///
///     score(i, j) = (q_i k_j + q_i K^r[r] + k_j Q^r[r]) / sqrt(d n)        r = row_of(i - j)
///
/// where n is `terms()`; a given scale replaces the factor. The table has 2 `span` rows.
/// **Errors**, thrown by Disentangled: a span below 1; a max_distance other than 0 that is below
/// span / 2 + 2, or with a span of 1; a dropout outside [0, 1].
/// **Source**: He et al., "DeBERTa", 2021, section 3.1; for buckets, transformers.DebertaV2Model.
struct DisentangledOptions {
  index_t span;  // half the rows of the table: position_buckets, or max_relative_positions without
  index_t max_distance = 0;         // of buckets; 0: a row for each distance
  bool content_to_position = true;  // the term q_i K^r
  bool position_to_content = true;  // the term k_j Q^r
  bool shared = true;  // rows are projected as tokens are; false: by layers of their own
  double dropout = 0;  // of the rows

  /// The row of the table for a key at i - j = `distance` from its query, from 0 to 2 span - 1.
  ///
  /// Let m = span / 2 and a = |distance|. Without buckets, or if a <= m, the row is span +
  /// distance. Buckets of larger distances are wider; in float32,
  ///
  ///     row = span +- (m + ceil(log(a / m) / log((max_distance - 1) / m) (m - 1)))
  ///
  /// Rows outside the table become the first or the last row.
  index_t row_of(index_t distance) const;
  /// The number of terms of a score, 1 to 3.
  index_t terms() const { return 1 + content_to_position + position_to_content; }
};

/// The position terms of the scores, as a bias.
///
/// **Parameters**, unless `shared`: pos_key_proj and pos_query_proj, both Linear, for the terms
/// that exist.
/// **Errors**: those of DisentangledOptions.
/// **Source**: as DisentangledOptions.
struct Disentangled {
  DisentangledOptions options;
  std::optional<Linear> pos_key_proj, pos_query_proj;
  Dropout dropout;

  /// `embed_dim` is D, `width` is H d.
  Disentangled(const DisentangledOptions& given, index_t embed_dim, index_t width,
               const ParameterSource& from = default_rng());

  /// The R rows of the table that these numbers of queries and keys reach, after dropout.
  /// **Shapes**: table (2 span, D) -> (1, R, D). **Errors**: a table of a different size.
  Tensor rows(index_t queries, index_t keys, const Tensor& table) const;

  /// The terms without the factor, from the projections of rows(); a projection whose term is
  /// absent is not read.
  /// **Shapes**: q (B, H, Tq, d), k (B, H, Tk, d), row_keys and row_queries (1, H, R, d)
  /// -> (B, H, Tq, Tk); undefined without position terms.
  Tensor operator()(const Tensor& q, const Tensor& k, const Tensor& row_keys,
                    const Tensor& row_queries) const;

  static void visit(auto& self, auto&& visitor) {
    visitor("pos_key_proj", self.pos_key_proj);
    visitor("pos_query_proj", self.pos_query_proj);
    visitor("row_dropout", self.dropout);
  }
};

}  // namespace tessera::nn
