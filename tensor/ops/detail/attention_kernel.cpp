#include "tessera/tensor/ops/detail/attention_kernel.h"

#include <algorithm>

#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/kernels/table.h"
#include "tessera/tensor/profile_span.h"

namespace tessera::detail {

namespace {

using Operands = AttentionOperands;
using Outputs = AttentionOutputs;

/// A mask expanded to (B, H, Tq, Tk).
Tensor expand_mask(const char* kind, const Tensor& mask, const Shape& scores,
                   const char* cure = "") {
  require(broadcasts_to(mask.shape(), scores), kAttentionOp, kind,
          " must broadcast to (B, H, Tq, Tk) = ", scores, ", got shape ", mask.shape(), cure);
  return mask.expand(scores);
}

/// The function to call for a bool mask of this shape that does not broadcast.
const char* cure_for(const Shape& mask) {
  if (mask.size() == 2) {
    return "; for a mask of shape (B, Tk) call keep_keys_mask() or ignore_keys_mask()";
  }
  const bool is_of_keys = mask.size() == 4 && mask[1] == 1 && mask[2] == 1;
  return is_of_keys ? "; for a mask of shape (Tq, Tk) call keep_mask() or ignore_mask()" : "";
}

using Chosen = std::optional<std::vector<index_t>>;

kernels::Picked picked(const Chosen& chosen) {
  if (!chosen) return {};
  return {chosen->data(), static_cast<index_t>(chosen->size())};
}

/// x (B, H, T, width), whose elements begin at `data`.
template <class T>
kernels::Heads<T> heads_at(T* data, const Tensor& x) {
  return {data, x.strides()[0], x.strides()[1], x.strides()[2]};
}

template <class T>
kernels::Heads<const T> heads_of(const Tensor& x) {
  return heads_at(x.data<T>(), x);
}

template <class T>
kernels::Heads<T> heads_to(Tensor& x) {
  return heads_at(x.mutable_data<T>(), x);
}

/// Scores at `data`, with the strides of x (B, H, Tq, Tk).
template <class T>
kernels::PerScore<T> per_score(T* data, const Tensor& x) {
  return {data, x.strides()[0], x.strides()[1], x.strides()[2], x.strides()[3]};
}

/// Floating-point operations of the two products of the forward pass; the five of the backward take
/// 2.5 times as many.
index_t flops_of(const Operands& x) {
  const index_t keys = x.scores()[3];
  const index_t window = x.mask.window().value_or(keys);
  const index_t seen = std::min(keys, 2 * std::min(window, keys) + 1);
  return 2 * x.q.size(0) * x.q.size(1) * x.q.size(2) * seen * (x.q.size(3) + x.v.size(3));
}

/// The fraction of flops_of that unpadded sequences need, because they are shorter than the longest
/// one.
double unpadded_share(const UnpaddedRows& unpadded) {
  if (!unpadded) return 1;
  double scores = 0;
  for (index_t i = 0; i < unpadded.batch(); ++i) {
    const auto length = static_cast<double>(unpadded.offsets()[i + 1] - unpadded.offsets()[i]);
    scores += length * length;
  }
  return scores / static_cast<double>(unpadded.rows() * unpadded.padded_length());
}

/// Counts the work of a pass, `passes` times that of the forward. Masked scores count as computed,
/// except those outside a window.
void count_attention(const Operands& x, double passes) {
  if (!is_profiling()) return;
  count_work(passes * static_cast<double>(flops_of(x)) * unpadded_share(x.unpadded), 0);
}

/// Checks that there is one length per sequence, at most the number of keys.
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
kernels::AttentionMasks<T> masks_of(const AttentionMask& mask, const Shape& scores) {
  kernels::AttentionMasks<T> masks = {
      .causal = mask.causal(),
      .window = std::min(mask.window().value_or(kernels::kNoWindow), kernels::kNoWindow)};
  if (mask.lengths().defined()) {
    check_lengths(mask.lengths(), scores[0], scores[3]);
    masks.lengths = mask.lengths().data<index_t>();
  }
  if (mask.keep().defined()) {
    const Tensor keep =
        expand_mask("bool mask", mask.keep(), scores, cure_for(mask.keep().shape()));
    masks.keep = per_score(keep.data<bool>(), keep);
  }
  if (mask.bias().defined()) {
    const Tensor bias = expand_mask("additive mask", mask.bias(), scores);
    masks.bias = per_score(bias.data<T>(), bias);
  }
  return masks;
}

/// The two numbers of each query in `statistics` (2, B, H, Tq), whose elements begin at `data`.
template <class T>
kernels::AttentionStatistics<T> statistics_at(T* data, const Tensor& statistics) {
  return {data, data + statistics.count() / 2};
}

template <class T>
kernels::AttentionArgs<T> kernel_args(const Operands& x) {
  const Shape scores = x.scores();
  return {
      .batch = scores[0],
      .heads = scores[1],
      .queries = scores[2],
      .keys = scores[3],
      .width = x.q.size(3),
      .v_width = x.v.size(3),
      .group = x.group(),
      .q = heads_of<T>(x.q),
      .k = heads_of<T>(x.k),
      .v = heads_of<T>(x.v),
      .out = {},
      .scale = static_cast<T>(x.scale),
      .masks = masks_of<T>(x.mask, scores),
      .dropout = x.dropout,
      .offsets = x.unpadded ? x.unpadded.offsets() : nullptr,
  };
}

template <class T>
void run(const Operands& x, const AttentionRequest& request, Outputs& y) {
  kernels::AttentionArgs<T> args = kernel_args<T>(x);
  args.out = heads_to<T>(y.out);
  if (y.weights.defined() && y.weights.count() > 0) {
    args.weights = {heads_to<T>(y.weights), picked(request.heads), picked(request.queries)};
  }
  if (y.statistics.defined()) {
    args.statistics = statistics_at(y.statistics.mutable_data<T>(), y.statistics);
  }
  const auto& kernel = kernels::table<T>();
  args.workers = kernels::worker_count(args.batch * args.heads * args.queries,
                                       flops_of(x) / kernels::kFlopsPerOperation);
  Tensor workspace = Tensor::empty({kernel.attention_workspace(args)}, dtype_of<T>);
  args.workspace = workspace.mutable_data<T>();
  count_attention(x, 1);
  kernel.attention(args);
}

/// The backward pass of flash attention: weights are recomputed tile by tile.
template <class T>
void run_backward(const Operands& x, const Outputs& y, const Tensor& d_out, Gradients& dx) {
  Tensor dq = empty_heads(x.q, x.q.size(3));
  Tensor dk = empty_heads(x.k, x.k.size(3));
  Tensor dv = empty_heads(x.v, x.v.size(3));
  Tensor d_bias = dx.needs_gradient(kBias) ? zeros(x.mask.bias().shape(), x.q.dtype()) : Tensor();
  kernels::AttentionBackwardArgs<T> args = {
      .forward = kernel_args<T>(x),
      .d_out = heads_of<T>(d_out),
      .dq = heads_to<T>(dq),
      .dk = heads_to<T>(dk),
      .dv = heads_to<T>(dv),
  };
  if (d_bias.defined()) {
    args.d_bias = per_score(d_bias.mutable_data<T>(), d_bias.expand(x.scores()));
  }
  kernels::AttentionArgs<T>& forward = args.forward;
  forward.out = heads_at(const_cast<T*>(y.out.data<T>()), y.out);
  forward.statistics = statistics_at(const_cast<T*>(y.statistics.data<T>()), y.statistics);
  const auto& kernel = kernels::table<T>();
  forward.workers = kernels::worker_count(forward.batch * forward.heads * forward.queries,
                                          5 * flops_of(x) / (2 * kernels::kFlopsPerOperation));
  Tensor workspace = Tensor::empty({kernel.attention_backward_workspace(args)}, dtype_of<T>);
  forward.workspace = workspace.mutable_data<T>();
  count_attention(x, 2.5);
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
