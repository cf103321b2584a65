// The backward of fused attention: only the kernel, on heads of a packed projection.
#include <algorithm>
#include <array>
#include <cmath>
#include <memory>

#include "bench/case.h"
#include "bench/registry.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/kernels/table.h"
#include "tessera/tensor/random.h"

namespace tessera::bench {

namespace {

struct Size {
  index_t batch, heads, key_heads, tokens, width;
  index_t window = kernels::kNoWindow;

  bool has_window() const { return window < tokens; }
  /// Five products over the keys that a window allows: w + 1 + w for each query, minus those beyond
  /// the ends. Read and written are q, k, v, their gradients, the output's gradient, and two
  /// numbers per query. Each head of keys is read by heads / key_heads heads of queries.
  Cost cost() const {
    const index_t pairs =
        has_window() ? tokens * (2 * window + 1) - window * (window + 1) : tokens * tokens;
    const auto rows = static_cast<double>(batch * heads * tokens);
    const auto key_rows = static_cast<double>(batch * key_heads * tokens);
    return {.flops = 10.0 * static_cast<double>(batch * heads * pairs * width),
            .bytes = bytes_of((3 * rows + 4 * key_rows) * static_cast<double>(width) + 2 * rows)};
  }
};

/// The results of a forward pass, and memory for the gradients.
class Backward {
 public:
  explicit Backward(const Size& s) : s_(s) {
    args_.forward.batch = s.batch;
    args_.forward.heads = s.heads;
    args_.forward.group = s.heads / s.key_heads;
    args_.forward.queries = args_.forward.keys = s.tokens;
    args_.forward.width = args_.forward.v_width = s.width;
    args_.forward.scale = 1 / std::sqrt(static_cast<float>(s.width));
    args_.forward.masks.window = s.window;
    args_.forward.workers = thread_count();
    float* const maxima = statistics_.mutable_data<float>();
    args_.forward.statistics = {maxima, maxima + statistics_.count() / 2};
    const index_t k = s.heads, v = s.heads + s.key_heads;
    args_.forward.q = heads<const float>(qkv_, 0);
    args_.forward.k = heads<const float>(qkv_, k);
    args_.forward.v = heads<const float>(qkv_, v);
    args_.forward.out = heads<float>(out_, 0);
    args_.d_out = heads<const float>(d_out_, 0);
    args_.dq = heads<float>(d_qkv_, 0);
    args_.dk = heads<float>(d_qkv_, k);
    args_.dv = heads<float>(d_qkv_, v);
    const auto& kernel = kernels::table<float>();
    Tensor workspace = Tensor::empty({kernel.attention_workspace(args_.forward)});
    args_.forward.workspace = workspace.mutable_data<float>();
    kernel.attention(args_.forward);
    workspace_ = Tensor::empty({kernel.attention_backward_workspace(args_)});
    args_.forward.workspace = workspace_.mutable_data<float>();
  }

  /// (batch, tokens, heads + 2 key_heads, width)
  Tensor run() const {
    kernels::table<float>().attention_backward(args_);
    return d_qkv_;
  }

  /// Element `e` of the result of run, in double. The gradient of a key is a sum over all queries,
  /// so only gradients of queries are computed; for other elements, returns the value in `found`.
  double expected(const Tensor& found, index_t e) const {
    const index_t all = s_.heads + 2 * s_.key_heads;
    const index_t head = e / s_.width % all;
    if (head >= s_.heads) return static_cast<double>(found.data<float>()[e]);
    const index_t batch = e / (all * s_.width * s_.tokens);
    const index_t query = e / (all * s_.width) % s_.tokens;
    const index_t key_head = s_.heads + head / (s_.heads / s_.key_heads);
    const auto at = [&](const Tensor& x, index_t its_head, index_t t, index_t c) {
      const index_t token = batch * s_.tokens + t;
      return static_cast<double>(x.data<float>()[token * x.strides()[1] + its_head * s_.width + c]);
    };
    const double scale = 1 / std::sqrt(static_cast<double>(s_.width));
    double sum = 0, mean = 0, with_keys = 0, weighted = 0;
    const index_t stop = std::min(query + s_.window + 1, s_.tokens);
    for (index_t j = std::max<index_t>(query - s_.window, 0); j < stop; ++j) {
      double score = 0, d_weight = 0;
      for (index_t c = 0; c < s_.width; ++c) {
        score += at(qkv_, head, query, c) * at(qkv_, key_head, j, c);
        d_weight += at(d_out_, head, query, c) * at(qkv_, key_head + s_.key_heads, j, c);
      }
      const double weight = std::exp(score * scale);
      const double k = at(qkv_, key_head, j, e % s_.width);
      sum += weight;
      mean += weight * d_weight;
      with_keys += weight * k;
      weighted += weight * d_weight * k;
    }
    return scale * (weighted - mean / sum * with_keys) / sum;
  }

 private:
  template <class T>
  kernels::Heads<T> heads(Tensor& x, index_t first) const {
    return {x.mutable_data<float>() + first * s_.width, x.strides()[0], s_.width, x.strides()[1]};
  }
  Tensor random(index_t heads) const {
    return uniform(-1, 1, {s_.batch, s_.tokens, heads * s_.width});
  }

  Size s_;
  Tensor qkv_ = random(s_.heads + 2 * s_.key_heads), d_qkv_ = qkv_.clone();
  Tensor out_ = random(s_.heads), d_out_ = random(s_.heads);
  Tensor statistics_ = Tensor::empty({2, s_.batch, s_.heads, s_.tokens});
  Tensor workspace_;
  kernels::AttentionBackwardArgs<float> args_ = {};
};

Case backward_case(const Size& s) {
  const auto backward = std::make_shared<Backward>(s);
  const auto error = [=](const Tensor& found) {
    const auto expected = [&](index_t e) { return backward->expected(found, e); };
    return sampled_error(found, 100, expected, 1e-5);
  };
  return {[=] { return backward->run(); }, error};
}

Work backward_work(Parameters& p) {
  const index_t heads = p.size("H", 1);
  Size s = {p.size("B", 1), heads, p.divisor("G", heads), p.size("T"), p.size("d")};
  s.window = p.size("window", kernels::kNoWindow, 0);
  return {s.cost(), [s] { return backward_case(s); }};
}

}  // namespace

void register_attention_backward() {
  constexpr std::array<Size, 8> kSizes = {{{1, 12, 12, 128, 32},
                                           {1, 12, 12, 128, 64},
                                           {8, 12, 12, 128, 64},
                                           {1, 12, 12, 512, 64},
                                           {1, 12, 4, 512, 64},
                                           {1, 1, 1, 2048, 64},
                                           {1, 12, 12, 8192, 64},
                                           {1, 12, 12, 8192, 64, 128}}};
  Kind kind = {.name = "attention_backward",
               .pattern = "attention_backward/B:/H:[/G:]/T:/d:[/window:]",
               .what = "the backward kernel only",
               .work = backward_work};
  for (const Size& s : kSizes) {
    const std::string groups = s.key_heads < s.heads ? str_cat("/G:", s.key_heads) : "";
    kind.names.push_back(str_cat("attention_backward/B:", s.batch, "/H:", s.heads, groups,
                                 "/T:", s.tokens, "/d:", s.width,
                                 s.has_window() ? str_cat("/window:", s.window) : ""));
  }
  register_kind(std::move(kind));
}

}  // namespace tessera::bench
