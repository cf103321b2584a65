// Attention of any size with any mask: its inputs, its cost, and its definition in double.
#pragma once

#include <optional>
#include <string>
#include <utility>

#include "bench/case.h"
#include "bench/parameters.h"
#include "tensor/ops/attention.h"

namespace tessera::bench {

struct AttentionSize {
  index_t batch = 1, heads = 1, queries = 1, keys = 1, width = 1;
  std::optional<index_t> window = {};
  bool causal = false;
  std::optional<index_t> length = {};  // keys from here on are padding
  std::string mask = {};               // "keep": half of all pairs; "additive": a bias of each pair
  double dropout = 0;
  DType dtype = kFloat32;

  /// B:, H:, T: or Tq: and Tk:, d:, and the masks.
  static AttentionSize of(Parameters& parameters);
  static constexpr const char* kPattern =
      "/B:/H:/T: or /Tq:/Tk:/d:[/causal:1][/window:][/length:][/mask:keep or additive]"
      "[/dropout:][/dtype:float64]";

  /// The keys that a query may use by their positions: from the first, to before the second.
  std::pair<index_t, index_t> keys_of(index_t query) const;
  /// Two products over the pairs that causal, window and length allow.
  Cost cost() const;
};

/// Queries, keys and values with adjacent heads, as in the output of a projection.
struct AttentionInputs {
  AttentionSize size;
  Tensor q, k, v;  // (B, H, T, d)
  Tensor keep;     // (Tq, Tk), bool
  Tensor bias;     // (Tq, Tk)

  explicit AttentionInputs(const AttentionSize& s);

  AttentionMask mask() const;
  AttentionOptions options() const;
  /// The largest error of (B, H, Tq, d), over the tolerance.
  double error(const Tensor& out) const;

 private:
  double softmax_weight(index_t head, index_t query, index_t key) const;
  double expected(index_t head, index_t query, index_t column) const;
  double dropout_error(const Tensor& out) const;
};

}  // namespace tessera::bench
