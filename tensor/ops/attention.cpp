#include "tensor/ops/attention.h"

#include <algorithm>
#include <cmath>
#include <ostream>

#include "tensor/autograd/recording.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/kernels/dispatch.h"
#include "tensor/kernels/parallel.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/compare.h"
#include "tensor/ops/matmul.h"
#include "tensor/ops/pack_rows.h"
#include "tensor/ops/reduce.h"

namespace tessera {

namespace {

constexpr const char* kOp = "attention";

/// x with its last axis contiguous, as the kernel reads.
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

/// Prints the three shapes, but only when an error needs them: this is on every call's way.
struct Shapes {
  const Tensor &q, &k, &v;
  friend std::ostream& operator<<(std::ostream& out, const Shapes& shapes) {
    return out << "q " << shapes.q.shape() << ", k " << shapes.k.shape() << ", v "
               << shapes.v.shape();
  }
};

void check_inputs(const Tensor& q, const Tensor& k, const Tensor& v) {
  require(q.defined() && k.defined() && v.defined(), kOp, "an input is undefined");
  const Shapes shapes = {q, k, v};
  require(q.rank() >= 2 && q.rank() <= 4 && k.rank() == q.rank() && v.rank() == q.rank(), kOp,
          "expected three tensors (..., T, d) of 2 to 4 axes, got ", shapes);
  bool leading_match = true;
  for (index_t i = 0; i + 2 < q.rank(); ++i) {
    leading_match = leading_match && q.size(i) == k.size(i) && q.size(i) == v.size(i);
  }
  require(leading_match, kOp, "leading axes differ: ", shapes);
  require(q.size(-1) == k.size(-1), kOp, "q and k differ in width: ", shapes);
  require(k.size(-2) == v.size(-2), kOp, "k and v differ in length: ", shapes);
  require(is_floating(q.dtype()) && q.dtype() == k.dtype() && q.dtype() == v.dtype(), kOp,
          "q, k and v must share a floating dtype, not ", q.dtype(), ", ", k.dtype(), " and ",
          v.dtype());
}

/// A mask expanded to (B, H, Tq, Tk).
Tensor expand_mask(const char* kind, const Tensor& mask, const Shape& scores) {
  bool fits = mask.rank() <= 4;
  for (index_t i = 1; i <= mask.rank() && fits; ++i) {
    fits = mask.size(-i) == 1 || mask.size(-i) == scores[4 - i];
  }
  require(fits, kOp, kind, " of shape ", mask.shape(),
          " does not broadcast to (B, H, Tq, Tk) = ", scores);
  return mask.expand(scores);
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

using Chosen = std::optional<std::vector<index_t>>;

index_t count_of(const Chosen& chosen, index_t size) {
  return chosen ? static_cast<index_t>(chosen->size()) : size;
}

kernels::Picked picked(const Chosen& chosen) {
  if (!chosen) return {};
  return {chosen->data(), static_cast<index_t>(chosen->size())};
}

void copy_strides(const Tensor& x, index_t* to, index_t count) {
  for (index_t i = 0; i < count; ++i) to[i] = x.strides()[i];
}

/// Those of (B, H, T, width); a batch of one, as packed sequences are, does not step along itself.
void copy_token_strides(const Tensor& x, index_t (&to)[3]) {
  copy_strides(x, to, 3);
  if (x.size(0) == 1) to[0] = 0;
}

/// What forward and backward read: four axes each, an additive mask in the inputs' dtype.
struct Operands {
  Tensor q, k, v;
  AttentionMask mask;
  double scale;
  kernels::Dropout dropout;

  bool is_packed() const { return mask.offsets().defined(); }
  /// (B, H, Tq, Tk).
  Shape scores() const {
    if (!is_packed()) return {q.size(0), q.size(1), q.size(2), k.size(2)};
    return {mask.offsets().count() - 1, q.size(1), mask.tokens(), mask.tokens()};
  }
  /// Of the forward's two products; the backward's five are two and a half times as many.
  index_t flops() const {
    const index_t keys = scores()[3];
    const index_t seen = std::min(keys, 2 * std::min(mask.window().value_or(keys), keys) + 1);
    return 2 * q.size(0) * q.size(1) * q.size(2) * seen * (q.size(3) + v.size(3));
  }
};

/// Packed rows are one batch, whose sequences' shapes the masks know.
void check_packed(const Operands& x) {
  if (!x.is_packed()) return;
  const index_t rows = x.mask.offsets().data<index_t>()[x.mask.offsets().count() - 1];
  const Shapes shapes = {x.q, x.k, x.v};
  require(x.q.size(0) == 1 && x.q.size(2) == rows && x.k.size(2) == rows, kOp,
          "packed sequences of ", rows, " tokens need q, k and v (1, H, ", rows, ", d), got ",
          shapes);
}

/// The tensor that receives the weights. The kernel leaves those of absent tokens as they are.
Tensor weights_for(const Operands& x, const AttentionRequest& request) {
  const Shape scores = x.scores();
  const Shape shape = {scores[0], count_of(request.heads, scores[1]),
                       count_of(request.queries, scores[2]), scores[3]};
  return x.is_packed() ? zeros(shape, x.q.dtype()) : Tensor::empty(shape, x.q.dtype());
}

/// (B, H, T, width) of packed (1, H, N, width), with zeros where there is no token.
Tensor unpacked(const Operands& operands, const Tensor& x) {
  const Tensor& offsets = operands.mask.offsets();
  const Tensor lengths = offsets.slice(0, 1) - offsets.slice(0, 0, -1);
  return unpack_rows(x.squeeze(0).transpose(0, 1), lengths, operands.mask.tokens()).transpose(1, 2);
}

/// The inverse of `unpacked`.
Tensor packed(const Operands& operands, const Tensor& x) {
  const Tensor& offsets = operands.mask.offsets();
  const Tensor lengths = offsets.slice(0, 1) - offsets.slice(0, 0, -1);
  return pack_rows(x.transpose(1, 2), lengths).transpose(0, 1).unsqueeze(0);
}

/// (B, T, H, width) in memory, seen as (B, H, T, width): merging the heads is a view.
Tensor empty_heads(const Tensor& x, index_t width) {
  return Tensor::empty({x.size(0), x.size(2), x.size(1), width}, x.dtype()).transpose(1, 2);
}

template <class T>
void set_masks(const Operands& x, kernels::AttentionArgs<T>& args) {
  const AttentionMask& mask = x.mask;
  args.causal = mask.causal();
  args.window = std::min(mask.window().value_or(kernels::kNoWindow), kernels::kNoWindow);
  if (x.is_packed()) args.offsets = mask.offsets().data<index_t>();
  if (mask.lengths().defined()) {
    require(mask.lengths().size(0) == args.batch, kOp, mask.lengths().size(0),
            " lengths for a batch of ", args.batch);
    args.lengths = mask.lengths().data<index_t>();
  }
  if (mask.keep().defined()) {
    const Tensor keep = expand_mask("the bool mask", mask.keep(), x.scores());
    args.keep = keep.data<bool>();
    copy_strides(keep, args.keep_strides, 4);
  }
  if (mask.bias().defined()) {
    const Tensor bias = expand_mask("the additive mask", mask.bias(), x.scores());
    args.bias = bias.data<T>();
    copy_strides(bias, args.bias_strides, 4);
  }
}

template <class T>
kernels::AttentionArgs<T> kernel_args(const Operands& x) {
  const Shape scores = x.scores();
  kernels::AttentionArgs<T> args = {
      .batch = scores[0],
      .heads = scores[1],
      .queries = scores[2],
      .keys = scores[3],
      .width = x.q.size(3),
      .v_width = x.v.size(3),
      .q = x.q.data<T>(),
      .q_strides = {},
      .k = x.k.data<T>(),
      .k_strides = {},
      .v = x.v.data<T>(),
      .v_strides = {},
      .out = nullptr,
      .out_strides = {},
      .scale = static_cast<T>(x.scale),
  };
  copy_token_strides(x.q, args.q_strides);
  copy_token_strides(x.k, args.k_strides);
  copy_token_strides(x.v, args.v_strides);
  set_masks(x, args);
  args.dropout = x.dropout;
  return args;
}

/// What the forward computes. `weights` and `statistics`, (2, B, H, Tq), are undefined unless
/// requested.
struct Outputs {
  Tensor out, weights, statistics;
};

template <class T>
void run(const Operands& x, const AttentionRequest& request, Outputs& y) {
  kernels::AttentionArgs<T> args = kernel_args<T>(x);
  args.out = y.out.mutable_data<T>();
  copy_token_strides(y.out, args.out_strides);
  if (y.weights.defined() && y.weights.count() > 0) {
    args.weights = y.weights.mutable_data<T>();
    copy_strides(y.weights, args.weights_strides, 3);
    args.weight_heads = picked(request.heads);
    args.weight_queries = picked(request.queries);
  }
  if (y.statistics.defined()) {
    args.maxima = y.statistics.mutable_data<T>();
    args.scales = args.maxima + y.statistics.count() / 2;
  }
  const auto& kernel = kernels::table().of<T>();
  args.workers = kernels::worker_count(args.batch * args.heads * args.queries,
                                       x.flops() / kernels::kFlopsPerOperation);
  Tensor workspace = Tensor::empty({kernel.attention_workspace(args)}, dtype_of<T>);
  args.workspace = workspace.mutable_data<T>();
  kernel.attention(args);
}

/// Where an op's inputs are among its gradients.
enum Input : std::size_t { kQ, kK, kV, kBias };

/// Flash attention's backward: weights are computed again, tile by tile.
template <class T>
void run_backward(const Operands& x, const Outputs& y, const Tensor& d_out, Gradients& dx) {
  Tensor dq = empty_heads(x.q, x.q.size(3));
  Tensor dk = empty_heads(x.k, x.k.size(3));
  Tensor dv = empty_heads(x.v, x.v.size(3));
  Tensor d_bias = dx.wanted(kBias) ? zeros(x.mask.bias().shape(), x.q.dtype()) : Tensor();
  kernels::AttentionBackwardArgs<T> args = {
      .forward = kernel_args<T>(x),
      .d_out = d_out.data<T>(),
      .d_out_strides = {},
      .dq = dq.mutable_data<T>(),
      .dq_strides = {},
      .dk = dk.mutable_data<T>(),
      .dk_strides = {},
      .dv = dv.mutable_data<T>(),
      .dv_strides = {},
  };
  copy_token_strides(d_out, args.d_out_strides);
  copy_token_strides(dq, args.dq_strides);
  copy_token_strides(dk, args.dk_strides);
  copy_token_strides(dv, args.dv_strides);
  if (d_bias.defined()) {
    args.d_bias = d_bias.mutable_data<T>();
    copy_strides(d_bias.expand(x.scores()), args.d_bias_strides, 4);
  }
  kernels::AttentionArgs<T>& forward = args.forward;
  forward.out = const_cast<T*>(y.out.data<T>());
  copy_token_strides(y.out, forward.out_strides);
  forward.maxima = const_cast<T*>(y.statistics.data<T>());
  forward.scales = forward.maxima + y.statistics.count() / 2;
  const auto& kernel = kernels::table().of<T>();
  forward.workers = kernels::worker_count(forward.batch * forward.heads * forward.queries,
                                          5 * x.flops() / (2 * kernels::kFlopsPerOperation));
  Tensor workspace = Tensor::empty({kernel.attention_backward_workspace(args)}, dtype_of<T>);
  forward.workspace = workspace.mutable_data<T>();
  kernel.attention_backward(args);
  dx.add(kQ, dq);
  dx.add(kK, dk);
  dx.add(kV, dv);
  dx.add(kBias, d_bias);
}

/// The weights before dropout, once more.
template <class T>
Tensor undropped_weights(Operands x) {
  x.dropout = {};
  Outputs y;
  y.out = empty_heads(x.q, x.v.size(3));
  y.weights = weights_for(x, {});
  run<T>(x, {}, y);
  return y.weights;
}

/// The gradients by way of the weights W, where somebody computes with these themselves:
/// dS = W o dW - P sum of W dW, P being the weights before dropout, W itself where there is none.
/// What is not finite in q and k may belong to a weight of 0, and is left out; through others it shows
/// all the same, because W is then NaN.
void weights_backward(const Operands& x, const Tensor& weights, const Tensor& d_weights,
                      Gradients& dx) {
  const Tensor along = sum(weights * d_weights, {-1}, true);
  Tensor d_scores;
  if (x.dropout.threshold == 0) {
    d_scores = weights * (d_weights - along);
  } else {
    visit_floating(x.q.dtype(), [&](auto kind) {
      d_scores = weights * d_weights - undropped_weights<decltype(kind)>(x) * along;
    });
  }
  const auto finite = [](const Tensor& rows) { return where(isfinite(rows), rows, 0); };
  const auto read = [&](const Tensor& rows) {
    return finite(x.is_packed() ? unpacked(x, rows) : rows);
  };
  const auto add = [&](Input input, const Tensor& gradient) {
    dx.add(input, x.is_packed() ? packed(x, gradient) : gradient);
  };
  if (dx.wanted(kQ)) add(kQ, matmul(d_scores, read(x.k)) * x.scale);
  if (dx.wanted(kK)) add(kK, matmul(d_scores.transpose(-1, -2), read(x.q)) * x.scale);
  dx.add(kBias, d_scores);
}

/// A mask as a backward keeps it.
class SavedMask {
 public:
  SavedMask(const Recording& op, const AttentionMask& mask) : mask_(mask) {
    for (const Tensor& x : mask.tensors()) tensors_.push_back(op.save(x));
  }
  AttentionMask get() const {
    return mask_.with_tensors(std::vector<Tensor>(tensors_.begin(), tensors_.end()));
  }

 private:
  AttentionMask mask_;  // for what is no tensor
  std::vector<Saved> tensors_;
};

/// Operands as a backward keeps them.
struct SavedOperands {
  Saved q, k, v;
  SavedMask mask;
  double scale;
  kernels::Dropout dropout;

  SavedOperands(const Recording& op, const Operands& x)
      : q(op.save(x.q)),
        k(op.save(x.k)),
        v(op.save(x.v)),
        mask(op, x.mask),
        scale(x.scale),
        dropout(x.dropout) {}
  Operands get() const { return {q, k, v, mask.get(), scale, dropout}; }
};

/// The output, and the weights where y has room for them, each recorded for itself.
AttentionResult compute(Operands x, const AttentionRequest& request, Outputs y) {
  const Tensor q = x.q, k = x.k;
  Recording op(kOp, {&x.q, &x.k, &x.v, &x.mask.bias()});
  // Copies are no variables of their own: where one tensor is q, k and v, its gradients are added up
  // in one order, whatever its layout.
  for (Tensor* each : {&x.q, &x.k, &x.v}) *each = with_whole_rows(each->detach());
  y.out = empty_heads(x.q, x.v.size(3));
  if (op) {
    const Shape scores = x.scores();
    y.statistics = Tensor::empty({2, scores[0], scores[1], scores[2]}, x.q.dtype());
  }
  visit_floating(x.q.dtype(), [&](auto kind) { run<decltype(kind)>(x, request, y); });
  const Tensor out = op.finish(y.out, [&] {
    return [kept = SavedOperands(op, x), out = op.save(y.out), statistics = y.statistics](
               const Tensor& d_out, Gradients& dx) {
      const Outputs forward = {out, {}, statistics};
      const Tensor rows = with_whole_rows(d_out);
      visit_floating(rows.dtype(), [&](auto kind) {
        run_backward<decltype(kind)>(kept.get(), forward, rows, dx);
      });
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
  require(!mask.offsets().defined() || q.rank() == 4, kOp,
          "packed sequences need q, k and v of four axes");
  if (options.weights) {
    const bool packed = mask.offsets().defined();
    const Shape padded = {1, packed ? q.size(1) : 0, mask.tokens(), q.size(-1)};
    detail::check_request(*options.weights, "q", packed ? padded : q.shape(), 4);
  }
  const double width = static_cast<double>(std::max<index_t>(q.size(-1), 1));
  // Added axes and a bias of another dtype are variables of their own: these views and casts record
  // themselves.
  const Operands x = {
      .q = with_all_axes(q),
      .k = with_all_axes(k),
      .v = with_all_axes(v),
      .mask = with_dtype(mask, q.dtype()),
      .scale = options.scale.value_or(1 / std::sqrt(width)),
      .dropout = detail::dropout_of(kOp, options.dropout),
  };
  check_packed(x);
  // The gradient of a row of weights reads all of it: the choice is an op of its own, and so is the
  // average.
  const AttentionRequest whole = options.weights.value_or(AttentionRequest{});
  const AttentionRequest average = {.averaged = whole.averaged};
  const bool of_all = wants_gradient({&x.q, &x.k, &x.mask.bias()});
  const AttentionRequest& now = of_all ? average : whole;
  const AttentionRequest& later = of_all ? whole : average;
  Outputs y;
  if (options.weights) y.weights = weights_for(x, now);
  AttentionResult result = compute(x, now, y);
  result.output = without_added_axes(result.output, q.rank());
  if (!options.weights) return result;
  result.weights = requested_weights(without_added_axes(result.weights, q.rank()), later);
  return result;
}

}  // namespace tessera
