// The attention kernels between guard bytes: inputs, masks, outputs and gradients.
#pragma once

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "tessera/tensor/create.h"
#include "tests/support/attention_run.h"
#include "tests/support/support.h"

namespace tessera::test {

/// Heads are adjacent, as in the output of a projection; weights are (B, H, Tq, Tk).
template <class T>
class AttentionBuffers {
 public:
  explicit AttentionBuffers(const AttentionSizes& sizes, const MaskParts& parts = {},
                            const Shape& d_bias_shape = {})
      : s(sizes),
        q(input(s.queries, s.width, 1)),
        k(input(s.keys, s.width, 2)),
        v(input(s.keys, s.v_width, 3)),
        d_out(input(s.queries, s.v_width, 4)),
        out(count(s.queries, s.v_width), 1),
        weights(s.batch * s.heads * s.queries * s.keys, 2),
        dq(count(s.queries, s.width), 3),
        dk(count(s.keys, s.width), 1),
        dv(count(s.keys, s.v_width), 5),
        maxima(s.batch * s.heads * s.queries, 1),
        scales(s.batch * s.heads * s.queries, 2),
        parts_(parts),
        keep_(parts.keep.defined() ? parts.keep.to_vector<bool>() : std::vector<bool>(), 3),
        bias_(parts.bias.defined() ? parts.bias.to(dtype_of<T>).template to_vector<T>()
                                   : std::vector<T>(),
              1) {
    if (d_bias_shape.size() != 0) d_bias = zeros(d_bias_shape, dtype_of<T>);
  }

  kernels::AttentionArgs<T> forward_args() {
    kernels::AttentionArgs<T> f = {};
    f.batch = s.batch;
    f.heads = s.heads;
    f.queries = s.queries;
    f.keys = s.keys;
    f.width = s.width;
    f.v_width = s.v_width;
    f.q = heads<const T>(q, s.queries, s.width);
    f.k = heads<const T>(k, s.keys, s.width);
    f.v = heads<const T>(v, s.keys, s.v_width);
    f.out = heads<T>(out, s.queries, s.v_width);
    f.scale = static_cast<T>(scale());
    f.masks.causal = parts_.causal;
    f.masks.window = parts_.window.value_or(kernels::kNoWindow);
    if (!parts_.lengths.empty()) f.masks.lengths = parts_.lengths.data();
    if (parts_.keep.defined()) {
      f.masks.keep = per_score<const bool>(keep_.data(), parts_.keep.contiguous());
    }
    if (parts_.bias.defined()) {
      f.masks.bias = per_score<const T>(bias_.data(), parts_.bias.contiguous());
    }
    return f;
  }

  /// The arguments of the backward; the forward of these also writes its statistics.
  kernels::AttentionBackwardArgs<T> backward_args() {
    kernels::AttentionBackwardArgs<T> a = {};
    a.forward = forward_args();
    a.forward.statistics = {maxima.data(), scales.data()};
    a.d_out = heads<const T>(d_out, s.queries, s.v_width);
    a.dq = heads<T>(dq, s.queries, s.width);
    a.dk = heads<T>(dk, s.keys, s.width);
    a.dv = heads<T>(dv, s.keys, s.v_width);
    if (d_bias.defined()) a.d_bias = per_score<T>(d_bias.template mutable_data<T>(), d_bias);
    return a;
  }

  void run_forward(kernels::AttentionArgs<T> args) {
    with_workspace(args, table<T>().attention_workspace(args), [&] { table<T>().attention(args); });
    expect_intact();
  }

  /// Runs forward, and backward on `workers` threads.
  void run(index_t workers = 1) {
    kernels::AttentionBackwardArgs<T> a = backward_args();
    run_forward(a.forward);
    a.forward.workers = workers;
    for (Guarded<T>* gradient : {&dq, &dk, &dv}) {
      std::fill_n(gradient->data(), gradient->values().size(), std::numeric_limits<T>::quiet_NaN());
    }
    with_workspace(a.forward, table<T>().attention_backward_workspace(a),
                   [&] { table<T>().attention_backward(a); });
    expect_intact();
  }

  double scale() const { return 1 / std::sqrt(std::max(1.0, static_cast<double>(s.width))); }
  Tensor shaped(const Guarded<T>& x, index_t tokens, index_t width) const {
    return from_vector(x.values(), {s.batch, tokens, s.heads, width}).transpose(1, 2);
  }
  /// The inputs as tensors, for the naive definition.
  AttentionInputs inputs() const {
    return {shaped(q, s.queries, s.width), shaped(k, s.keys, s.width), shaped(v, s.keys, s.v_width),
            shaped(d_out, s.queries, s.v_width)};
  }
  void expect_gradients(double allowed) {
    const AttentionInputs x = inputs();
    const NaiveAttentionGradients want =
        naive_attention_backward(x.q, x.k, x.v, x.d_out, parts_, scale());
    EXPECT_TRUE(near(shaped(dq, s.queries, s.width), want.q, 0, allowed)) << "dq";
    EXPECT_TRUE(near(shaped(dk, s.keys, s.width), want.k, 0, allowed)) << "dk";
    EXPECT_TRUE(near(shaped(dv, s.keys, s.v_width), want.v, 0, allowed)) << "dv";
    if (!d_bias.defined()) return;
    EXPECT_TRUE(near(d_bias, summed(want.scores), 0, allowed)) << "d bias";
  }
  /// All gradients, one after the other.
  std::vector<T> gradients() const {
    std::vector<T> all = dq.values();
    std::vector<Tensor> others = {from_vector(dk.values()), from_vector(dv.values())};
    if (d_bias.defined()) others.push_back(d_bias);
    for (const Tensor& x : others) {
      const std::vector<T> values = x.template to_vector<T>();
      all.insert(all.end(), values.begin(), values.end());
    }
    return all;
  }

  AttentionSizes s;
  Guarded<T> q, k, v, d_out, out, weights, dq, dk, dv, maxima, scales;
  Tensor d_bias;

 private:
  index_t count(index_t tokens, index_t width) const { return s.batch * s.heads * tokens * width; }
  Guarded<T> input(index_t tokens, index_t width, std::uint64_t seed) const {
    return Guarded<T>(random_values<T>(count(tokens, width), seed, -2, 2),
                      static_cast<index_t>(seed));
  }
  template <class U>
  kernels::Heads<U> heads(Guarded<T>& buffer, index_t tokens, index_t width) const {
    return {buffer.data(), tokens * s.heads * width, width, s.heads * width};
  }
  /// Elements at `data`, in the layout of x.
  template <class U>
  kernels::PerScore<U> per_score(U* data, const Tensor& x) const {
    const Strides strides = x.expand(s.scores()).strides();
    return {data, strides[0], strides[1], strides[2], strides[3]};
  }
  template <class Call>
  void with_workspace(kernels::AttentionArgs<T>& f, index_t elements, const Call& call) {
    Guarded<T> workspace(elements, 1);
    for (index_t i = 0; i < elements; ++i) workspace[i] = std::numeric_limits<T>::quiet_NaN();
    f.workspace = workspace.data();
    call();
    EXPECT_TRUE(workspace.intact());
  }
  void expect_intact() {
    for (Guarded<T>* buffer :
         {&q, &k, &v, &d_out, &out, &weights, &dq, &dk, &dv, &maxima, &scales, &bias_}) {
      EXPECT_TRUE(buffer->intact());
    }
    EXPECT_TRUE(keep_.intact());
  }
  /// `scores`, summed over the axes along which the bias is broadcast.
  Array summed(const Array& scores) const {
    Array result = build(d_bias.shape(), [](const Dims&) { return 0.0; });
    const index_t missing = 4 - d_bias.rank();
    for_each_index(scores.shape, [&](const Dims& at) {
      Dims to;
      for (index_t i = 0; i < d_bias.rank(); ++i) {
        to.push_back(d_bias.size(i) == 1 ? 0 : at[i + missing]);
      }
      result.at(to) += scores.at(at);
    });
    return result;
  }

  MaskParts parts_;
  Guarded<bool> keep_;
  Guarded<T> bias_;
};

}  // namespace tessera::test
