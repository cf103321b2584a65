#include "tessera/tensor/ops/attention.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "tessera/tensor/autograd/recording.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/compare.h"
#include "tessera/tensor/ops/detail/attention_kernel.h"
#include "tessera/tensor/ops/indexing.h"
#include "tessera/tensor/ops/matmul.h"
#include "tessera/tensor/ops/reduce.h"

namespace tessera {

namespace {

using Operands = detail::AttentionOperands;
using Outputs = detail::AttentionOutputs;
using Chosen = std::optional<std::vector<index_t>>;

/// x with its last axis contiguous, as the kernel requires.
Tensor with_whole_rows(const Tensor& x) {
  return x.size(-1) <= 1 || x.strides().back() == 1 ? x : x.contiguous();
}

/// (B, H, T, width) of a tensor that may lack H or both.
Tensor with_all_axes(const Tensor& x) {
  Tensor full = x;
  if (x.rank() == 2) full = full.unsqueeze(0);
  if (x.rank() <= 3) full = full.unsqueeze(1);
  return full;
}

Tensor without_added_axes(const Tensor& x, index_t rank) {
  Tensor result = x;
  if (rank <= 3) result = result.squeeze(1);
  if (rank == 2) result = result.squeeze(0);
  return result;
}

/// Formats the three shapes only if an error needs them, because every call passes here.
struct Shapes {
  const Tensor &q, &k, &v;
  friend std::ostream& operator<<(std::ostream& out, const Shapes& shapes) {
    return out << "q " << shapes.q.shape() << ", k " << shapes.k.shape() << ", v "
               << shapes.v.shape();
  }
};

void check_inputs(const Tensor& q, const Tensor& k, const Tensor& v) {
  require(q.defined() && k.defined() && v.defined(), detail::kAttentionOp,
          "q, k and v must be defined, got an undefined tensor");
  const Shapes shapes = {q, k, v};
  require(q.rank() >= 2 && q.rank() <= 4 && k.rank() == q.rank() && v.rank() == q.rank(),
          detail::kAttentionOp,
          "q, k and v must have shapes (..., T, d) of equal rank, 2 to 4 axes, got ", shapes);
  if (q.rank() > 2) {
    require(q.size(0) == k.size(0) && q.size(0) == v.size(0), detail::kAttentionOp,
            "q, k and v must have equal first axes, got ", shapes);
  }
  if (q.rank() == 4) {
    const index_t heads = k.size(1);
    require(v.size(1) == heads &&
                (q.size(1) == heads || (heads > 0 && q.size(1) > 0 && q.size(1) % heads == 0)),
            detail::kAttentionOp,
            "k and v must have the same number of heads, a divisor of that of q, got ", shapes);
  }
  require(q.size(-1) == k.size(-1), detail::kAttentionOp, "q and k must have equal widths, got ",
          shapes);
  require(k.size(-2) == v.size(-2), detail::kAttentionOp, "k and v must have equal lengths, got ",
          shapes);
  require(is_floating(q.dtype()) && q.dtype() == k.dtype() && q.dtype() == v.dtype(),
          detail::kAttentionOp, "q, k and v must have the same floating dtype, got ", q.dtype(),
          ", ", k.dtype(), " and ", v.dtype());
}

void check_chosen(const char* what, const Chosen& chosen, index_t size) {
  if (!chosen) return;
  for (index_t number : *chosen) {
    require(number >= 0 && number < size, detail::kAttentionOp, what, " must be in [0, ", size,
            "), got ", number);
  }
}

Tensor chosen_of(const Tensor& weights, index_t axis, const Chosen& chosen) {
  return chosen ? index_select(weights, axis, from_vector(*chosen)) : weights;
}

/// Throws if `x`, the shape (..., Tq, any) of `what`, lacks the heads and queries of the request.
/// `x` has an axis of heads if it has at least `rank_with_heads` axes.
void check_request(const AttentionRequest& request, const char* what, const Shape& x,
                   index_t rank_with_heads) {
  require(x.size() >= 2, detail::kAttentionOp, what, " must have shape (..., Tq, any), got ", x);
  const bool has_heads = x.size() >= rank_with_heads;
  require(has_heads || !request.heads, detail::kAttentionOp, what,
          " must have an axis of heads to choose from, got ", x);
  require(has_heads || !request.averaged, detail::kAttentionOp, what,
          " must have an axis of heads to average, got ", x);
  require(!request.averaged || !request.heads || !request.heads->empty(), detail::kAttentionOp,
          "chosen heads must be at least 1 if they are averaged, got 0");
  if (request.heads) check_chosen("head", request.heads, x[x.size() - 3]);
  check_chosen("query", request.queries, x[x.size() - 2]);
}

/// The mask with its additive part in the inputs' dtype.
AttentionMask with_dtype(const AttentionMask& mask, DType dtype) {
  if (!mask.bias().defined() || mask.bias().dtype() == dtype) return mask;
  std::vector<Tensor> tensors = mask.tensors();
  for (Tensor& x : tensors) {
    if (x.defined() && is_floating(x.dtype())) x = x.to(dtype);
  }
  return mask.with_tensors(tensors);
}

/// The number of chosen indices, out of `size`.
index_t count_of(const Chosen& chosen, index_t size) {
  return chosen ? static_cast<index_t>(chosen->size()) : size;
}

/// Checks that unpadded rows are a batch of one.
void check_unpadded(const Operands& x) {
  if (!x.unpadded) return;
  const index_t rows = x.unpadded.rows();
  const Shapes shapes = {x.q, x.k, x.v};
  require(x.q.size(0) == 1 && x.q.size(2) == rows && x.k.size(2) == rows, detail::kAttentionOp,
          "q, k and v must have shape (1, H, ", rows, ", d) for unpadded sequences of ", rows,
          " tokens, got ", shapes);
}

/// The tensor that receives the weights. The kernel does not write the weights of absent tokens.
Tensor weights_for(const Operands& x, const AttentionRequest& request) {
  const Shape scores = x.scores();
  const Shape shape = {scores[0], count_of(request.heads, scores[1]),
                       count_of(request.queries, scores[2]), scores[3]};
  return x.unpadded ? zeros(shape, x.q.dtype()) : Tensor::empty(shape, x.q.dtype());
}

/// Recomputes the weights without dropout.
Tensor undropped_weights(Operands x) {
  x.dropout = {};
  Outputs y;
  y.out = detail::empty_heads(x.q, x.v.size(3));
  y.weights = weights_for(x, {});
  detail::run_attention(x, {}, y);
  return y.weights;
}

/// The gradients through the weights W, if the caller computes with W: dS = W o dW - P sum of W dW,
/// where P are the weights before dropout (P = W without dropout). Elements of q and k that are not
/// finite count as 0, because their weight may be 0; if it is not 0, W is NaN anyway.
void weights_backward(const Operands& x, const Tensor& weights, const Tensor& d_weights,
                      Gradients& dx) {
  const Tensor along = sum(weights * d_weights, {-1}, true);
  Tensor d_scores;
  if (x.dropout.threshold == 0) {
    d_scores = weights * (d_weights - along);
  } else {
    d_scores = weights * d_weights - undropped_weights(x) * along;
  }
  const auto finite = [](const Tensor& rows) { return where(isfinite(rows), rows, 0); };
  // Weights have the shape of the padded batch. Unpadded sequences follow one another along the
  // first axis. The heads of a group have their own axis.
  const auto read = [&](const Tensor& rows) {
    return finite(x.unpadded.pad(rows.transpose(1, 2)).transpose(1, 2));
  };
  const auto add = [&](detail::AttentionInput input, const Tensor& gradient) {
    dx.add(input, x.unpadded.unpad(gradient.transpose(1, 2)).transpose(1, 2));
  };
  const auto grouped = [&](const Tensor& heads) {
    return heads.unflatten(1, {x.k.size(1), x.group()});
  };
  using enum detail::AttentionInput;
  const Tensor d_groups = grouped(d_scores);
  if (dx.needs_gradient(kQ)) {
    add(kQ, matmul(d_groups, read(x.k).unsqueeze(2)).flatten(1, 2) * x.scale);
  }
  if (dx.needs_gradient(kK)) {
    add(kK, sum(matmul(d_groups.transpose(-1, -2), grouped(read(x.q))), {2}) * x.scale);
  }
  dx.add(kBias, d_scores);
}

/// A mask saved for a backward.
class SavedMask {
 public:
  SavedMask(const Recording& op, const AttentionMask& mask) : mask_(mask) {
    for (const Tensor& x : mask.tensors()) tensors_.push_back(op.save(x));
  }
  AttentionMask get() const {
    return mask_.with_tensors(std::vector<Tensor>(tensors_.begin(), tensors_.end()));
  }

 private:
  AttentionMask mask_;  // for the parts that are not tensors
  std::vector<Saved> tensors_;
};

/// Operands saved for a backward.
struct SavedOperands {
  Saved q, k, v;
  SavedMask mask;
  double scale;
  kernels::Dropout dropout;
  UnpaddedRows unpadded;

  SavedOperands(const Recording& op, const Operands& x)
      : q(op.save(x.q)),
        k(op.save(x.k)),
        v(op.save(x.v)),
        mask(op, x.mask),
        scale(x.scale),
        dropout(x.dropout),
        unpadded(x.unpadded) {}
  Operands get() const { return {q, k, v, mask.get(), scale, dropout, unpadded}; }
};

/// The output, and the weights if y has room for them, each recorded as a separate op.
AttentionResult compute(Operands x, const AttentionRequest& request, Outputs y) {
  const Tensor q = x.q, k = x.k;
  Recording op(detail::kAttentionOp, {&x.q, &x.k, &x.v, &x.mask.bias()});
  // The contiguous copies are not separate variables: if one tensor is q, k and v, its gradients
  // are added up in one order, for any layout.
  for (Tensor* each : {&x.q, &x.k, &x.v}) *each = with_whole_rows(each->detach());
  y.out = detail::empty_heads(x.q, x.v.size(3));
  if (op) {
    const Shape scores = x.scores();
    y.statistics = Tensor::empty({2, scores[0], scores[1], scores[2]}, x.q.dtype());
  }
  detail::run_attention(x, request, y);
  const Tensor out = op.finish(y.out, [&] {
    return [kept = SavedOperands(op, x), out = op.save(y.out), statistics = y.statistics](
               const Tensor& d_out, Gradients& dx) {
      detail::run_attention_backward(kept.get(), {out, {}, statistics}, with_whole_rows(d_out), dx);
    };
  });
  if (!y.weights.defined()) return {out, y.weights};
  const Tensor none;  // weights do not depend on the values
  Recording of_weights("attention weights", {&q, &k, &none, &x.mask.bias()});
  return {out, of_weights.finish(y.weights, [&] {
            return [kept = SavedOperands(of_weights, x), weights = of_weights.save(y.weights)](
                       const Tensor& d_weights, Gradients& dx) {
              weights_backward(kept.get(), weights, d_weights, dx);
            };
          })};
}

}  // namespace

AttentionResult attention(const Tensor& q, const Tensor& k, const Tensor& v,
                          const AttentionMask& mask, const AttentionOptions& options) {
  check_inputs(q, k, v);
  require(std::isfinite(options.scale.value_or(1)), detail::kAttentionOp,
          "scale must be finite, got ", options.scale.value_or(1));
  require(!options.unpadded || q.rank() == 4, detail::kAttentionOp,
          "q, k and v must have 4 axes for unpadded sequences, got q ", q.shape());
  if (options.need_weights) {
    Shape padded = q.shape();
    if (options.unpadded) padded[2] = options.unpadded.padded_length();
    check_request(*options.need_weights, "q", padded, 4);
  }
  const double width = static_cast<double>(std::max<index_t>(q.size(-1), 1));
  // Added axes and a bias of a different dtype are separate variables: these views and casts record
  // themselves.
  const Operands x = {
      .q = with_all_axes(q),
      .k = with_all_axes(k),
      .v = with_all_axes(v),
      .mask = with_dtype(mask, q.dtype()),
      .scale = options.scale.value_or(1 / std::sqrt(width)),
      .dropout = detail::dropout_of(detail::kAttentionOp, options.dropout),
      .unpadded = options.unpadded,
  };
  check_unpadded(x);
  // The gradient of a row of weights reads the whole row, so the selection is a separate op, and so
  // is the average.
  const AttentionRequest whole = options.need_weights.value_or(AttentionRequest{});
  const AttentionRequest average = {.averaged = whole.averaged};
  const bool of_all = any_needs_gradient({&x.q, &x.k, &x.mask.bias()});
  const AttentionRequest& now = of_all ? average : whole;
  const AttentionRequest& later = of_all ? whole : average;
  Outputs y;
  if (options.need_weights) y.weights = weights_for(x, now);
  AttentionResult result = compute(x, now, y);
  result.output = without_added_axes(result.output, q.rank());
  if (!options.need_weights) return result;
  result.weights = requested_weights(without_added_axes(result.weights, q.rank()), later);
  return result;
}

Tensor requested_weights(const Tensor& weights, const AttentionRequest& request) {
  check_request(request, "weights", weights.shape(), 3);
  const Tensor of_heads = chosen_of(weights, -3, request.heads);
  const Tensor of_queries = chosen_of(of_heads, -2, request.queries);
  return request.averaged ? mean(of_queries, {-3}) : of_queries;
}

}  // namespace tessera