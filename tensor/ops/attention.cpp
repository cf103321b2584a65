#include "tensor/ops/attention.h"

#include <cmath>
#include <ostream>

#include "tensor/autograd/recording.h"
#include "tensor/error.h"
#include "tensor/kernels/dispatch.h"
#include "tensor/kernels/parallel.h"

namespace tessera {

namespace {

constexpr const char* kOp = "attention";

/// (B, H, T, width) of a tensor that may lack H or both; the last axis contiguous, as the kernel
/// reads.
Tensor with_all_axes(const Tensor& x) {
  Tensor full = x;
  if (x.rank() == 2) full = full.unsqueeze(0);
  if (x.rank() <= 3) full = full.unsqueeze(1);
  return full.size(-1) <= 1 || full.strides().back() == 1 ? full : full.contiguous();
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

using Chosen = std::optional<std::vector<index_t>>;

index_t count_of(const Chosen& chosen, index_t size) {
  return chosen ? static_cast<index_t>(chosen->size()) : size;
}

void check_chosen(const char* what, const Chosen& chosen, index_t size) {
  if (!chosen) return;
  for (index_t number : *chosen) {
    require(number >= 0 && number < size, kOp, "there is no ", what, " ", number, " among ", size);
  }
}

kernels::Picked picked(const Chosen& chosen) {
  if (!chosen) return {};
  return {chosen->data(), static_cast<index_t>(chosen->size())};
}

/// The tensor that receives the weights; undefined if nobody asks for them.
Tensor weights_for(const AttentionOptions& options, const Shape& scores, DType dtype) {
  if (!options.need_weights) return {};
  const AttentionSelection& of = options.weights_of;
  return Tensor::empty(
      {scores[0], count_of(of.heads, scores[1]), count_of(of.queries, scores[2]), scores[3]},
      dtype);
}

void copy_strides(const Tensor& x, index_t* to, index_t count) {
  for (index_t i = 0; i < count; ++i) to[i] = x.strides()[i];
}

/// Runs the kernel on tensors of all four axes; `weights` may be undefined.
template <class T>
void run(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionMask& mask, double scale,
         const AttentionSelection& weights_of, Tensor& out, Tensor& weights) {
  const Shape scores = {q.size(0), q.size(1), q.size(2), k.size(2)};
  kernels::AttentionArgs<T> args = {
      .batch = q.size(0),
      .heads = q.size(1),
      .queries = q.size(2),
      .keys = k.size(2),
      .width = q.size(3),
      .v_width = v.size(3),
      .q = q.data<T>(),
      .q_strides = {},
      .k = k.data<T>(),
      .k_strides = {},
      .v = v.data<T>(),
      .v_strides = {},
      .out = out.mutable_data<T>(),
      .out_strides = {},
      .scale = static_cast<T>(scale),
      .causal = mask.causal(),
  };
  copy_strides(q, args.q_strides, 3);
  copy_strides(k, args.k_strides, 3);
  copy_strides(v, args.v_strides, 3);
  copy_strides(out, args.out_strides, 3);
  if (mask.lengths().defined()) {
    require(mask.lengths().size(0) == args.batch, kOp, mask.lengths().size(0),
            " lengths for a batch of ", args.batch);
    args.lengths = mask.lengths().data<index_t>();
  }
  if (mask.keep().defined()) {
    const Tensor keep = expand_mask("the bool mask", mask.keep(), scores);
    args.keep = keep.data<bool>();
    copy_strides(keep, args.keep_strides, 4);
  }
  Tensor bias;  // outlives the kernel's run
  if (mask.bias().defined()) {
    bias = expand_mask("the additive mask", mask.bias().to(q.dtype()), scores);
    args.bias = bias.data<T>();
    copy_strides(bias, args.bias_strides, 4);
  }
  if (weights.defined() && weights.count() > 0) {
    args.weights = weights.mutable_data<T>();
    copy_strides(weights, args.weights_strides, 3);
    args.weight_heads = picked(weights_of.heads);
    args.weight_queries = picked(weights_of.queries);
  }
  const auto& kernel = kernels::table().of<T>();
  const index_t heads = args.batch * args.heads;
  const index_t flops = 2 * heads * args.queries * args.keys * (args.width + args.v_width);
  args.workers = kernels::worker_count(heads * args.queries, flops / kernels::kFlopsPerOperation);
  Tensor workspace = Tensor::empty({kernel.attention_workspace(args)}, dtype_of<T>);
  args.workspace = workspace.mutable_data<T>();
  kernel.attention(args);
}

}  // namespace

void check_selection(const AttentionSelection& weights_of, const Tensor& q) {
  require(!weights_of.heads || q.rank() == 4, kOp, "chosen heads need an axis of heads, q is ",
          q.shape());
  if (weights_of.heads) check_chosen("head", weights_of.heads, q.size(-3));
  check_chosen("query", weights_of.queries, q.size(-2));
}

AttentionResult attention(const Tensor& q, const Tensor& k, const Tensor& v,
                          const AttentionMask& mask, const AttentionOptions& options) {
  check_inputs(q, k, v);
  check_selection(options.weights_of, q);
  refuse_gradient(kOp, {&q, &k, &v, &mask.bias()});
  const Tensor queries = with_all_axes(q);
  const Tensor keys = with_all_axes(k);
  const Tensor values = with_all_axes(v);
  const double width = static_cast<double>(std::max<index_t>(q.size(-1), 1));
  const double scale = options.scale.value_or(1 / std::sqrt(width));

  Tensor out =
      Tensor::empty({queries.size(0), queries.size(2), queries.size(1), values.size(3)}, q.dtype())
          .transpose(1, 2);
  Tensor weights = weights_for(
      options, {queries.size(0), queries.size(1), queries.size(2), keys.size(2)}, q.dtype());
  if (q.dtype() == kFloat32) {
    run<float>(queries, keys, values, mask, scale, options.weights_of, out, weights);
  } else {
    run<double>(queries, keys, values, mask, scale, options.weights_of, out, weights);
  }
  return {without_added_axes(out, q.rank()),
          weights.defined() ? without_added_axes(weights, q.rank()) : weights};
}

}  // namespace tessera
