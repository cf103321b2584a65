// matmul, linear, softmax and layer_norm by oneDNN's primitives; weights are packed before the
// measurement, like ours.
#include <cmath>
#include <memory>
#include <oneapi/dnnl/dnnl.hpp>
#include <unordered_map>
#include <utility>

#include "bench/oracles.h"
#include "bench/peers/peers.h"
#include "bench/registry.h"
#include "tessera/tensor/random.h"

namespace tessera::bench {

namespace {

using Arguments = std::unordered_map<int, dnnl::memory>;
using Format = dnnl::memory::format_tag;

const dnnl::engine& dnnl_processor() {
  static const dnnl::engine engine(dnnl::engine::kind::cpu, 0);
  return engine;
}

dnnl::memory::desc description(std::initializer_list<index_t> sizes, Format layout) {
  return {dnnl::memory::dims(sizes), dnnl::memory::data_type::f32, layout};
}

/// oneDNN's view of a tensor's memory.
dnnl::memory memory_of(const Tensor& x, const dnnl::memory::desc& what) {
  return {what, dnnl_processor(), const_cast<float*>(x.data<float>())};
}

void run_dnnl(const dnnl::primitive& work, const Arguments& arguments) {
  static dnnl::stream stream(dnnl_processor());
  work.execute(stream, arguments);
  stream.wait();
}

double dnnl_gelu(double x) {
  return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
}

/// y = act(x w + b); `w` is (K, N), or with `transposed` the weight (N, K) of a layer, packed by
/// oneDNN in its preferred form. Without bias: w in its present form.
struct DnnlLayer {
  index_t m, n, k;
  bool with_bias, with_gelu;

  Cost cost() const {
    Cost cost = product_cost(m, n, k);
    if (with_bias) cost.bytes += bytes_of(static_cast<double>(n));
    return cost;
  }
};

dnnl::matmul::primitive_desc dnnl_layer_primitive(const DnnlLayer& s) {
  const auto x = description({s.m, s.k}, Format::ab);
  const auto w = description({s.k, s.n}, s.with_bias ? Format::any : Format::ab);
  const auto y = description({s.m, s.n}, Format::ab);
  dnnl::primitive_attr attributes;
  if (s.with_gelu) {
    dnnl::post_ops after;
    after.append_eltwise(1, dnnl::algorithm::eltwise_gelu_erf, 0, 0);
    attributes.set_post_ops(after);
  }
  if (!s.with_bias) return {dnnl::matmul::desc(x, w, y), attributes, dnnl_processor()};
  const auto b = description({1, s.n}, Format::ab);
  return {dnnl::matmul::desc(x, w, b, y), attributes, dnnl_processor()};
}

Case dnnl_layer_case(const DnnlLayer& s) {
  const Tensor x = uniform(-1, 1, {s.m, s.k});
  const double bound = s.with_bias ? 1 / std::sqrt(static_cast<double>(s.k)) : 1;
  const Tensor w = uniform(-bound, bound, {s.k, s.n});
  const Tensor b = uniform(-bound, bound, {1, s.n});
  const dnnl::matmul::primitive_desc primitive = dnnl_layer_primitive(s);
  dnnl::memory plain = memory_of(w, description({s.k, s.n}, Format::ab));
  dnnl::memory weights = plain;
  if (s.with_bias && primitive.weights_desc() != plain.get_desc()) {
    weights = dnnl::memory(primitive.weights_desc(), dnnl_processor());
    dnnl::stream stream(dnnl_processor());
    dnnl::reorder(plain, weights).execute(stream, plain, weights);
    stream.wait();
  }
  const dnnl::matmul work(primitive);
  const auto call = [=] {
    Tensor y = Tensor::empty({s.m, s.n});
    static_cast<void>(y.mutable_data<float>());
    Arguments arguments = {{DNNL_ARG_SRC, memory_of(x, description({s.m, s.k}, Format::ab))},
                           {DNNL_ARG_WEIGHTS, weights},
                           {DNNL_ARG_DST, memory_of(y, description({s.m, s.n}, Format::ab))}};
    if (s.with_bias) {
      arguments.emplace(DNNL_ARG_BIAS, memory_of(b, description({1, s.n}, Format::ab)));
    }
    run_dnnl(work, arguments);
    return y;
  };
  const auto error = [=](const Tensor& y) {
    const auto expected = [&](index_t e) {
      const double sum =
          dot(x, w, e / s.n, e % s.n) + (s.with_bias ? b.item_at({0, e % s.n}) : 0.0);
      return s.with_gelu ? dnnl_gelu(sum) : sum;
    };
    return sampled_error(y, 1000, expected, product_tolerance(s.with_bias ? 1 : s.k));
  };
  return {call, error};
}

dnnl::memory::desc dnnl_rows(const Rows& s) {
  return description({s.rows, s.columns}, Format::ab);
}

std::function<Tensor()> dnnl_rows_call(const Rows& s, const Tensor& x, const dnnl::primitive& work,
                                       const Arguments& more) {
  return [=] {
    Tensor y = Tensor::empty({s.rows, s.columns});
    static_cast<void>(y.mutable_data<float>());
    Arguments arguments = more;
    arguments.emplace(DNNL_ARG_SRC, memory_of(x, dnnl_rows(s)));
    arguments.emplace(DNNL_ARG_DST, memory_of(y, dnnl_rows(s)));
    run_dnnl(work, arguments);
    return y;
  };
}

Case dnnl_softmax_case(const Rows& s) {
  const Tensor x = uniform(-3, 3, {s.rows, s.columns});
  const dnnl::softmax_forward::primitive_desc primitive(
      dnnl::softmax_forward::desc(dnnl::prop_kind::forward_inference, dnnl_rows(s), 1),
      dnnl_processor());
  return {dnnl_rows_call(s, x, dnnl::softmax_forward(primitive), {}),
          [=](const Tensor& y) { return softmax_error(s, x, y); }};
}

Case dnnl_layer_norm_case(const Rows& s) {
  constexpr float kEps = 1e-5F;
  const Tensor x = uniform(-3, 3, {s.rows, s.columns});
  const auto flags = dnnl::normalization_flags::use_scale | dnnl::normalization_flags::use_shift;
  const dnnl::layer_normalization_forward::primitive_desc primitive(
      dnnl::layer_normalization_forward::desc(dnnl::prop_kind::forward_inference, dnnl_rows(s),
                                              kEps, flags),
      dnnl_processor());
  const auto vector = description({s.columns}, Format::a);
  const Arguments affine = {{DNNL_ARG_SCALE, dnnl::memory(vector, dnnl_processor())},
                            {DNNL_ARG_SHIFT, dnnl::memory(vector, dnnl_processor())}};
  for (const auto& [argument, memory] : affine) {
    auto* const values = static_cast<float*>(memory.get_data_handle());
    std::fill(values, values + s.columns, argument == DNNL_ARG_SCALE ? 1.0F : 0.0F);
  }
  return {dnnl_rows_call(s, x, dnnl::layer_normalization_forward(primitive), affine),
          [=](const Tensor& y) { return layer_norm_error(s, x, y, static_cast<double>(kEps)); }};
}

Work dnnl_rows_work(Parameters& p, Case (*make)(const Rows&)) {
  const Rows s = {p.size("rows"), p.size("cols")};
  const double bytes = 8.0 * static_cast<double>(s.rows * s.columns);
  return {{.bytes = bytes}, [=] { return make(s); }};
}

Work dnnl_matmul_work(Parameters& p) {
  const DnnlLayer s = {p.size("M"), p.size("N"), p.size("K"), false, false};
  return {s.cost(), [s] { return dnnl_layer_case(s); }};
}

Work dnnl_linear_work(Parameters& p) {
  const DnnlLayer s = {p.size("M"), p.size("N"), p.size("K"), true, p.flag("gelu")};
  return {s.cost(), [s] { return dnnl_layer_case(s); }};
}

void add_dnnl(const char* kind, const char* pattern, std::function<Work(Parameters&)> work) {
  register_kind({.name = kind,
                 .pattern = std::string(kind) + pattern,
                 .what = "oneDNN's primitive",
                 .work = std::move(work),
                 .by = "onednn"});
}

}  // namespace

void register_onednn() {
  add_dnnl("matmul", "/M:/N:/K:", dnnl_matmul_work);
  add_dnnl("linear", "/M:/K:/N:[/gelu:1]", dnnl_linear_work);
  add_dnnl("softmax",
           "/rows:/cols:", [](Parameters& p) { return dnnl_rows_work(p, dnnl_softmax_case); });
  add_dnnl("layer_norm",
           "/rows:/cols:", [](Parameters& p) { return dnnl_rows_work(p, dnnl_layer_norm_case); });
}

}  // namespace tessera::bench
