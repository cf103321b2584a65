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

/// What the kernels are told, and the tensors that it points into. q, k and v have all four axes.
template <class T>
struct Call {
  kernels::AttentionArgs<T> args;
  Tensor q, k, v, lengths, keep, bias, out;

  Call(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionMask& mask, double scale,
       const Tensor& out);

  Shape scores() const { return {args.batch, args.heads, args.queries, args.keys}; }
  /// The threads that `products` products of the size of the scores are worth.
  index_t workers(index_t products) const {
    const index_t heads = args.batch * args.heads;
    const index_t flops = products * heads * args.queries * args.keys * (args.width + args.v_width);
    return kernels::worker_count(heads * args.queries, flops / kernels::kFlopsPerOperation);
  }
};

template <class T>
Call<T>::Call(const Tensor& queries, const Tensor& keys, const Tensor& values,
              const AttentionMask& mask, double scale, const Tensor& result)
    : args{.batch = queries.size(0),
           .heads = queries.size(1),
           .queries = queries.size(2),
           .keys = keys.size(2),
           .width = queries.size(3),
           .v_width = values.size(3),
           .q = queries.data<T>(),
           .q_strides = {},
           .k = keys.data<T>(),
           .k_strides = {},
           .v = values.data<T>(),
           .v_strides = {},
           .out = nullptr,
           .out_strides = {},
           .scale = static_cast<T>(scale),
           .causal = mask.causal()},
      q(queries),
      k(keys),
      v(values),
      lengths(mask.lengths()),
      out(result) {
  copy_strides(q, args.q_strides, 3);
  copy_strides(k, args.k_strides, 3);
  copy_strides(v, args.v_strides, 3);
  copy_strides(out, args.out_strides, 3);
  if (lengths.defined()) {
    require(lengths.size(0) == args.batch, kOp, lengths.size(0), " lengths for a batch of ",
            args.batch);
    args.lengths = lengths.data<index_t>();
  }
  if (mask.keep().defined()) {
    keep = expand_mask("the bool mask", mask.keep(), scores());
    args.keep = keep.data<bool>();
    copy_strides(keep, args.keep_strides, 4);
  }
  if (mask.bias().defined()) {
    bias = expand_mask("the additive mask", mask.bias().detach().to(q.dtype()), scores());
    args.bias = bias.data<T>();
    copy_strides(bias, args.bias_strides, 4);
  }
}

/// What the forward leaves for the backward, both (B, H, Tq); undefined where nobody asks.
struct Statistics {
  Tensor maxima, scales;
};

/// `weights` and `statistics` may be undefined.
template <class T>
void run_forward(Call<T>& call, const AttentionSelection& weights_of, Tensor& weights,
                 Statistics& statistics) {
  kernels::AttentionArgs<T> args = call.args;
  args.out = call.out.template mutable_data<T>();
  if (weights.defined() && weights.count() > 0) {
    args.weights = weights.mutable_data<T>();
    copy_strides(weights, args.weights_strides, 3);
    args.weight_heads = picked(weights_of.heads);
    args.weight_queries = picked(weights_of.queries);
  }
  if (statistics.maxima.defined()) {
    args.maxima = statistics.maxima.mutable_data<T>();
    args.scales = statistics.scales.mutable_data<T>();
  }
  const auto& kernel = kernels::table().of<T>();
  args.workers = call.workers(2);
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

namespace {

/// (B, H, T, width) in the order (B, T, H, width), as a projection wants it.
Tensor empty_heads(const Tensor& like, index_t width) {
  return Tensor::empty({like.size(0), like.size(2), like.size(1), width}, like.dtype())
      .transpose(1, 2);
}

/// The backward of one call.
template <class T>
Backward backward_of(const Recording& op, const Call<T>& call, const AttentionMask& mask,
                     const Statistics& statistics, index_t rank) {
  return
      [=, args = call.args, q = op.save(call.q), k = op.save(call.k), v = op.save(call.v),
       lengths = op.save(call.lengths), keep = op.save(call.keep), bias = op.save(call.bias),
       out = op.save(call.out), bias_shape = mask.bias().defined() ? mask.bias().shape() : Shape(),
       workers = call.workers(5)](const Tensor& dy, Gradients& dx) {
        for (const Saved* saved : {&lengths, &keep, &bias}) saved->get();  // unchanged, or an error
        const Tensor d_out = with_all_axes(dy.detach());
        Tensor dq = empty_heads(q.get(), args.width);
        Tensor dk = empty_heads(k.get(), args.width);
        Tensor dv = empty_heads(v.get(), args.v_width);
        kernels::AttentionBackwardArgs<T> back = {};
        back.forward = args;
        back.forward.out = const_cast<T*>(out.get().template data<T>());  // only read
        back.forward.maxima = const_cast<T*>(statistics.maxima.data<T>());
        back.forward.scales = const_cast<T*>(statistics.scales.data<T>());
        back.forward.workers = workers;
        back.d_out = d_out.data<T>();
        copy_strides(d_out, back.d_out_strides, 3);
        back.dq = dq.mutable_data<T>();
        copy_strides(dq, back.dq_strides, 3);
        back.dk = dk.mutable_data<T>();
        copy_strides(dk, back.dk_strides, 3);
        back.dv = dv.mutable_data<T>();
        copy_strides(dv, back.dv_strides, 3);
        Tensor d_bias;
        if (dx.wanted(3)) {
          d_bias = Tensor::empty(bias_shape, dy.dtype()).fill(0);
          const Shape scores = {args.batch, args.heads, args.queries, args.keys};
          back.d_bias = d_bias.mutable_data<T>();
          copy_strides(d_bias.expand(scores), back.d_bias_strides, 4);
        }
        const auto& kernel = kernels::table().of<T>();
        Tensor workspace = Tensor::empty({kernel.attention_backward_workspace(back)}, dtype_of<T>);
        back.forward.workspace = workspace.mutable_data<T>();
        kernel.attention_backward(back);
        dx.add(0, without_added_axes(dq, rank));
        dx.add(1, without_added_axes(dk, rank));
        dx.add(2, without_added_axes(dv, rank));
        if (d_bias.defined()) dx.add(3, d_bias);
      };
}

template <class T>
AttentionResult attend(const Tensor& q, const Tensor& k, const Tensor& v, const AttentionMask& mask,
                       const AttentionOptions& options) {
  Recording op(kOp, {&q, &k, &v, &mask.bias()});
  require(!op || !options.need_weights, kOp,
          "its weights have no gradient; ask for them where nothing is recorded (NoGrad)");
  const double width = static_cast<double>(std::max<index_t>(q.size(-1), 1));
  const Tensor queries = with_all_axes(q.detach());
  Call<T> call(queries, with_all_axes(k.detach()), with_all_axes(v.detach()), mask,
               options.scale.value_or(1 / std::sqrt(width)), empty_heads(queries, v.size(-1)));
  Tensor weights = weights_for(options, call.scores(), q.dtype());
  Statistics statistics;
  if (op) {
    const Shape rows = {call.args.batch, call.args.heads, call.args.queries};
    statistics = {Tensor::empty(rows, q.dtype()), Tensor::empty(rows, q.dtype())};
  }
  run_forward(call, options.weights_of, weights, statistics);
  Tensor output = op.finish(without_added_axes(call.out, q.rank()),
                            [&] { return backward_of(op, call, mask, statistics, q.rank()); });
  return {std::move(output),
          weights.defined() ? without_added_axes(weights, q.rank()) : std::move(weights)};
}

}  // namespace

AttentionResult attention(const Tensor& q, const Tensor& k, const Tensor& v,
                          const AttentionMask& mask, const AttentionOptions& options) {
  check_inputs(q, k, v);
  check_selection(options.weights_of, q);
  return q.dtype() == kFloat32 ? attend<float>(q, k, v, mask, options)
                               : attend<double>(q, k, v, mask, options);
}

}  // namespace tessera
