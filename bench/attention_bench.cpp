// Fused attention, alone and beside the ops it replaces.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>

#include "bench/case.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/attention.h"
#include "tensor/ops/matmul.h"
#include "tensor/ops/softmax.h"
#include "tensor/random.h"
#include "tensor/storage.h"

namespace tessera::bench {

namespace {

struct Size {
  index_t batch, heads, queries, keys, width;
  std::optional<index_t> window = {};

  /// Of the keys that a window leaves alone: w + 1 + w for each query, less those beyond the ends.
  double flops() const {
    const index_t pairs =
        window ? queries * (2 * *window + 1) - *window * (*window + 1) : queries * keys;
    return 4.0 * static_cast<double>(batch * heads * pairs * width);
  }
  AttentionMask mask() const { return window ? window_mask(*window) : AttentionMask(); }
};

/// Queries, keys and values with the heads side by side, as a projection leaves them.
struct Inputs {
  Tensor q, k, v;

  explicit Inputs(const Size& s)
      : q(heads_of(s, s.queries)), k(heads_of(s, s.keys)), v(heads_of(s, s.keys)) {}

 private:
  static Tensor heads_of(const Size& s, index_t tokens) {
    return uniform({s.batch, tokens, s.heads * s.width}, -1, 1)
        .unflatten(2, {s.heads, s.width})
        .transpose(1, 2);
  }
};

/// Element (query, column) of one head's attention, in double.
double attend_in_double(const Tensor& q, const Tensor& k, const Tensor& v, index_t query,
                        index_t column, index_t window) {
  const index_t first = std::max<index_t>(query - window, 0);
  const index_t stop = std::min(query + window + 1, k.size(0));
  const index_t width = q.size(1);
  const auto at = [](const Tensor& x, index_t i, index_t j) {
    return static_cast<double>(x.data<float>()[i * x.strides()[0] + j * x.strides()[1]]);
  };
  double sum = 0;
  double weighted = 0;
  for (index_t j = first; j < stop; ++j) {
    double score = 0;
    for (index_t p = 0; p < width; ++p) score += at(q, query, p) * at(k, j, p);
    const double weight = std::exp(score / std::sqrt(static_cast<double>(width)));
    sum += weight;
    weighted += weight * at(v, j, column);
  }
  return weighted / sum;
}

double error_of(const Inputs& x, const Size& s, const Tensor& out) {
  const auto expected = [&](index_t e) {
    const index_t head = e / (s.queries * s.width);
    const auto of_head = [&](const Tensor& all) {
      return all.select(0, head / s.heads).select(0, head % s.heads);
    };
    return attend_in_double(of_head(x.q), of_head(x.k), of_head(x.v), e / s.width % s.queries,
                            e % s.width, s.window.value_or(s.keys + s.queries));
  };
  return sampled_error(out, 50, expected, 1e-5);
}

Case fused_case(const Size& s) {
  const Inputs x(s);
  return {[=] { return attention(x.q, x.k, x.v, s.mask()).output; },
          [=](const Tensor& out) { return error_of(x, s, out); }};
}

Case unfused_case(const Size& s) {
  const Inputs x(s);
  const double scale = 1 / std::sqrt(static_cast<double>(s.width));
  return {[=] {
            const Tensor scores = matmul(mul(x.q, scale), x.k.transpose(-1, -2));
            return matmul(softmax(scores, -1), x.v);
          },
          [=](const Tensor& out) { return error_of(x, s, out); }};
}

/// Counts memory beyond the inputs and the output as an error where it passes 64 MB.
Case long_case(const Size& s) {
  const Inputs x(s);
  return {[=] { return attention(x.q, x.k, x.v).output; },
          [=](const Tensor& out) {
            const auto held = [] { return memory_stats().in_use + memory_stats().cached; };
            release_cached_memory();
            const index_t before = held();
            const Tensor again = attention(x.q, x.k, x.v).output;
            const index_t extra = held() - before - again.count() * index_t{sizeof(float)};
            return std::max(error_of(x, s, out), static_cast<double>(extra) / 64e6);
          }};
}

void register_fused_and_unfused() {
  // Lengths from one query on, then head widths.
  constexpr std::array<Size, 14> kSizes = {{{1, 12, 1, 128, 64},
                                            {1, 12, 1, 2048, 64},
                                            {1, 12, 8, 8, 64},
                                            {1, 1, 8, 8, 64},
                                            {1, 12, 17, 33, 64},
                                            {1, 12, 64, 64, 64},
                                            {1, 1, 128, 128, 64},
                                            {1, 12, 512, 512, 64},
                                            {1, 12, 128, 128, 1},
                                            {1, 12, 128, 128, 3},
                                            {1, 12, 128, 128, 32},
                                            {1, 12, 128, 128, 128},
                                            {1, 12, 128, 128, 256},
                                            {1, 2, 512, 512, 256}}};
  for (const Size& s : kSizes) {
    const std::string name =
        format("/B:", s.batch, "/H:", s.heads, "/Tq:", s.queries, "/Tk:", s.keys, "/d:", s.width);
    register_case("attention_fused" + name, {.flops = s.flops()}, [=] { return fused_case(s); });
    register_case("attention_unfused" + name, {.flops = s.flops()},
                  [=] { return unfused_case(s); });
  }
}

}  // namespace

void register_attention() {
  constexpr std::array<std::array<index_t, 4>, 8> kSizes = {{{1, 2, 128, 64},
                                                             {1, 12, 128, 32},
                                                             {1, 12, 128, 64},
                                                             {8, 12, 128, 64},
                                                             {1, 12, 512, 64},
                                                             {8, 12, 512, 64},
                                                             {1, 12, 2048, 64},
                                                             {1, 12, 4096, 64}}};
  for (const auto& [b, h, t, d] : kSizes) {
    const Size s = {b, h, t, t, d};
    register_case(format("attention/B:", b, "/H:", h, "/T:", t, "/d:", d), {.flops = s.flops()},
                  [=] { return fused_case(s); });
  }
  for (const Size& s : {Size{1, 12, 8192, 8192, 64}, Size{1, 12, 8192, 8192, 64, 128}}) {
    register_case(format("attention/B:1/H:12/T:8192/d:64", s.window ? "/window:128" : ""),
                  {.flops = s.flops()}, [=] { return fused_case(s); });
  }
  const Size longest = {1, 1, 32768, 32768, 64};
  register_case("attention_long/T:32768/d:64", {.flops = longest.flops()},
                [=] { return long_case(longest); });
  register_fused_and_unfused();
}

}  // namespace tessera::bench
