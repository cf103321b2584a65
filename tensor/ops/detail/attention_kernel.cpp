#include "tensor/ops/detail/attention_kernel.h"

#include <algorithm>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/kernels/parallel.h"
#include "tensor/kernels/table.h"

namespace tessera::detail {

namespace {

using Operands = AttentionOperands;
using Outputs = AttentionOutputs;

/// A mask expanded to (B, H, Tq, Tk).
Tensor expand_mask(const char* kind, const Tensor& mask, const Shape& scores) {
  bool fits = mask.rank() <= 4;
  for (index_t i = 1; i <= mask.rank() && fits; ++i) {
    fits = mask.size(-i) == 1 || mask.size(-i) == scores[4 - i];
  }
  require(fits, kAttentionOp, kind, " must broadcast to (B, H, Tq, Tk) = ", scores, ", got shape ",
          mask.shape());
  return mask.expand(scores);
}

using Chosen = std::optional<std::vector<index_t>>;

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

/// Of the forward's two products; the backward's five are two and a half times as many.
index_t flops_of(const Operands& x) {
  const index_t keys = x.scores()[3];
  const index_t window = x.mask.window().value_or(keys);
  const index_t seen = std::min(keys, 2 * std::min(window, keys) + 1);
  return 2 * x.q.size(0) * x.q.size(1) * x.q.size(2) * seen * (x.q.size(3) + x.v.size(3));
}

/// One length per sequence, of which none is larger than the number of keys.
void check_lengths(const Tensor& lengths, index_t batch, index_t keys) {
  require(lengths.size(0) == batch, kAttentionOp, "length_mask must have ", batch,
          " lengths, one per sequence, got ", lengths.size(0));
  const index_t* const length = lengths.data<index_t>();
  for (index_t b = 0; b < batch; ++b) {
    require(length[b] <= keys, kAttentionOp, "length_mask row ", b, " must be at most T = ", keys,
            ", got ", length[b]);
  }
}

template <class T>
void set_masks(const Operands& x, kernels::AttentionArgs<T>& args) {
  const AttentionMask& mask = x.mask;
  args.causal = mask.causal();
  args.window = std::min(mask.window().value_or(kernels::kNoWindow), kernels::kNoWindow);
  if (x.packed) args.offsets = x.packed.offsets();
  if (mask.lengths().defined()) {
    check_lengths(mask.lengths(), args.batch, args.keys);
    args.lengths = mask.lengths().data<index_t>();
  }
  if (mask.keep().defined()) {
    const Tensor keep = expand_mask("bool mask", mask.keep(), x.scores());
    args.keep = keep.data<bool>();
    copy_strides(keep, args.keep_strides, 4);
  }
  if (mask.bias().defined()) {
    const Tensor bias = expand_mask("additive mask", mask.bias(), x.scores());
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
                                       flops_of(x) / kernels::kFlopsPerOperation);
  Tensor workspace = Tensor::empty({kernel.attention_workspace(args)}, dtype_of<T>);
  args.workspace = workspace.mutable_data<T>();
  kernel.attention(args);
}

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
                                          5 * flops_of(x) / (2 * kernels::kFlopsPerOperation));
  Tensor workspace = Tensor::empty({kernel.attention_backward_workspace(args)}, dtype_of<T>);
  forward.workspace = workspace.mutable_data<T>();
  kernel.attention_backward(args);
  dx.add(kQ, dq);
  dx.add(kK, dk);
  dx.add(kV, dv);
  dx.add(kBias, d_bias);
}

}  // namespace

Tensor empty_heads(const Tensor& x, index_t width) {
  return Tensor::empty({x.size(0), x.size(2), x.size(1), width}, x.dtype()).transpose(1, 2);
}

void run_attention(const Operands& x, const AttentionRequest& request, Outputs& y) {
  visit_floating(x.q.dtype(), [&](auto kind) { run<decltype(kind)>(x, request, y); });
}

void run_attention_backward(const Operands& x, const Outputs& y, const Tensor& d_out,
                            Gradients& dx) {
  visit_floating(x.q.dtype(), [&](auto kind) { run_backward<decltype(kind)>(x, y, d_out, dx); });
}

}  // namespace tessera::detail
