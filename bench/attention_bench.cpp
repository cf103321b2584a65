// Fused attention: any size with any mask, compared with the ops that it replaces, and its ladder.
#include <algorithm>
#include <array>
#include <cmath>
#include <optional>
#include <utility>
#include <vector>

#include "bench/ladders.h"
#include "bench/registry.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/ops/ops.h"
#include "tessera/tensor/random.h"

namespace tessera::bench {

namespace {

constexpr double kTolerance = 1e-5;
constexpr std::uint64_t kDropoutKey = 7;

/// The dropout probability as rounded by the library.
double rounded(double p) {
  return std::round(p * 65536) / 65536;
}

// ---- sizes, inputs and the definition in double ----

struct AttentionSize {
  index_t batch = 1, heads = 1, queries = 1, keys = 1, width = 1;
  index_t key_heads = 1;  // heads of keys and values, each for heads / key_heads heads of queries
  std::optional<index_t> window = {};
  bool causal = false;
  std::optional<index_t> length = {};  // keys from here on are padding
  std::string mask = {};               // "keep": half of all pairs; "additive": a bias of each pair
  double dropout = 0;
  DType dtype = kFloat32;

  static constexpr const char* kPattern =
      "/B:/H:[/G:]/T: or /Tq:/Tk:/d:[/causal:1][/window:][/length:][/mask:keep or additive]"
      "[/dropout:][/dtype:float64]";
  /// B:, H:, G:, T: or Tq: and Tk:, d:, and the masks.
  static AttentionSize of(Parameters& p) {
    AttentionSize s;
    s.batch = p.size("B", 1);
    s.heads = p.size("H", 1);
    s.key_heads = p.divisor("G", s.heads);
    if (p.has("T")) {
      s.queries = s.keys = p.size("T");
    } else {
      s.queries = p.size("Tq");
      s.keys = p.size("Tk");
    }
    s.width = p.size("d");
    s.window = p.optional_size("window", 0);
    s.causal = p.flag("causal");
    s.length = p.optional_size("length");
    s.mask = p.choice("mask", {"keep", "additive"});
    s.dropout = p.fraction("dropout", 0);
    s.dtype = p.dtype();
    return s;
  }

  /// The keys that a query may use by their positions: from the first, to before the second.
  std::pair<index_t, index_t> keys_of(index_t query) const {
    index_t first = 0;
    index_t stop = std::min(keys, length.value_or(keys));
    if (window) {
      first = std::max<index_t>(query - *window, 0);
      stop = std::min(stop, query + *window + 1);
    }
    if (causal) stop = std::min(stop, query + 1);
    return {first, std::max(first, stop)};
  }

  /// Two products over the pairs that causal, window and length allow.
  Cost cost() const {
    double pairs = 0;
    for (index_t query = 0; query < queries; ++query) {
      const auto [first, stop] = keys_of(query);
      pairs += static_cast<double>(stop - first);
    }
    const auto all_heads = static_cast<double>(batch) * static_cast<double>(heads);
    const auto d = static_cast<double>(width);
    const double group = static_cast<double>(heads) / static_cast<double>(key_heads);
    const double rows = static_cast<double>(queries) + static_cast<double>(keys) / group;
    const double elements =
        all_heads * d * 2 * rows + (mask == "additive" ? static_cast<double>(queries * keys) : 0);
    return {.flops = 4 * all_heads * pairs * d, .bytes = bytes_of(elements, dtype), .dtype = dtype};
  }
};

/// Queries, keys and values with adjacent heads, as in the output of a projection.
struct AttentionInputs {
  AttentionSize size;
  Tensor q, k, v;  // (B, H, T, d)
  Tensor keep;     // (Tq, Tk), bool
  Tensor bias;     // (Tq, Tk)

  explicit AttentionInputs(const AttentionSize& s) : size(s) {
    const auto heads_of = [&](index_t heads, index_t tokens) {
      return uniform(-1, 1, {s.batch, tokens, heads * s.width}, s.dtype)
          .unflatten(2, {heads, s.width})
          .transpose(1, 2);
    };
    q = heads_of(s.heads, s.queries);
    k = heads_of(s.key_heads, s.keys);
    v = heads_of(s.key_heads, s.keys);
    if (s.mask == "keep") keep = bernoulli(0.5, {s.queries, s.keys});
    if (s.mask == "additive") bias = uniform(-1, 1, {s.queries, s.keys}, s.dtype);
  }

  AttentionMask mask() const {
    AttentionMask all;
    if (size.causal) all = all & causal_mask();
    if (size.window) all = all & window_mask(*size.window);
    if (size.length) {
      all = all & length_mask(std::vector<index_t>(static_cast<std::size_t>(size.batch),
                                                   std::min(*size.length, size.keys)));
    }
    if (keep.defined()) all = all & keep_mask(keep);
    if (bias.defined()) all = all & additive_mask(bias);
    return all;
  }

  AttentionOptions options() const {
    AttentionOptions options;
    options.dropout = {.p = size.dropout, .key = kDropoutKey};
    return options;
  }

  /// The largest error of (B, H, Tq, d), over the tolerance.
  double error(const Tensor& out) const {
    if (size.dropout > 0) return dropout_error(out);
    const auto element = [&](index_t e) {
      const index_t row = e / size.width;
      return expected(row / size.queries, row % size.queries, e % size.width);
    };
    return sampled_error(out, 50, element, kTolerance);
  }

 private:
  index_t head_of_keys(index_t head) const { return head / (size.heads / size.key_heads); }

  /// exp of the score, 0 if it is masked.
  double softmax_weight(index_t head, index_t query, index_t key) const {
    if (keep.defined() && !keep.data<bool>()[query * size.keys + key]) return 0;
    const Elements x(q);
    const Elements y(k);
    const index_t b = head / size.heads;
    const index_t h = head % size.heads;
    const index_t row = b * q.strides()[0] + h * q.strides()[1] + query * q.strides()[2];
    const index_t column =
        b * k.strides()[0] + head_of_keys(h) * k.strides()[1] + key * k.strides()[2];
    double score = 0;
    for (index_t p = 0; p < size.width; ++p) score += x[row + p] * y[column + p];
    score /= std::sqrt(static_cast<double>(size.width));
    return std::exp(score + (bias.defined() ? Elements(bias)[query * size.keys + key] : 0));
  }

  /// Element (query, column) of one head.
  double expected(index_t head, index_t query, index_t column) const {
    const Elements z(v);
    const index_t at =
        head / size.heads * v.strides()[0] + head_of_keys(head % size.heads) * v.strides()[1];
    const auto [first, stop] = size.keys_of(query);
    double sum = 0;
    double weighted = 0;
    for (index_t key = first; key < stop; ++key) {
      const double weight = softmax_weight(head, query, key);
      sum += weight;
      weighted += weight * z[at + key * v.strides()[2] + column];
    }
    return sum > 0 ? weighted / sum : 0;
  }

  /// Checks the weights that the op returns for some queries: the fraction p must be dropped, the
  /// others must be those without dropout over 1 - p, and together they must give the output.
  double dropout_error(const Tensor& out) const {
    const double p = rounded(size.dropout);
    std::vector<index_t> queries;
    const index_t count = std::min<index_t>(4, size.queries);
    for (index_t i = 0; i < count; ++i) queries.push_back(i * size.queries / count);
    AttentionOptions asking = options();
    asking.need_weights = AttentionRequest{.queries = queries};
    const Tensor weights = attention(q, k, v, mask(), asking).weights.to(kFloat64);
    asking.dropout = {};
    const Tensor plain = attention(q, k, v, mask(), asking).weights.to(kFloat64);
    const Tensor kept = where(eq(weights, 0), 0, plain / (1 - p));
    const Tensor rows = index_select(out, 2, from_vector(queries)).to(kFloat64);
    const Tensor groups = weights.unflatten(1, {size.key_heads, size.heads / size.key_heads});
    const Tensor weighed = matmul(groups, v.to(kFloat64).unsqueeze(2)).flatten(1, 2);
    const double worst = max(abs(weights - kept)).item() + max(abs(rows - weighed)).item();
    const auto number_of = [](const Tensor& which) { return sum(which.to(kFloat64)).item(); };
    const double pairs = number_of(gt(plain, 0));
    const double dropped = number_of(logical_and(gt(plain, 0), eq(weights, 0)));
    const double deviations = std::abs(dropped - p * pairs) / std::sqrt(p * (1 - p) * pairs + 1);
    const double allowed = kTolerance / (1 - p) * (size.dtype == kFloat64 ? 1e-8 : 1);
    return std::isnan(worst) ? HUGE_VAL : std::max(worst / allowed, deviations / 6);
  }
};

// ---- the kinds ----

Case fused_case(const AttentionSize& s) {
  const AttentionInputs x(s);
  const AttentionMask mask = x.mask();
  return {[=] { return attention(x.q, x.k, x.v, mask, x.options()).output; },
          [=](const Tensor& out) { return x.error(out); }};
}

Case unfused_case(const AttentionSize& s) {
  const AttentionInputs x(s);
  const double scale = 1 / std::sqrt(static_cast<double>(s.width));
  return {[=] {
            const Tensor scores = matmul(mul(x.q, scale), x.k.transpose(-1, -2));
            return matmul(softmax(scores, -1), x.v);
          },
          [=](const Tensor& out) { return x.error(out); }};
}

Work fused_work(Parameters& p) {
  const AttentionSize s = AttentionSize::of(p);
  return {s.cost(), [s] { return fused_case(s); }};
}

Work unfused_work(Parameters& p) {
  const AttentionSize s = AttentionSize::of(p);
  const bool plain = !s.window && !s.causal && !s.length && s.mask.empty() && s.dropout == 0;
  require(plain, "tessera_bench", "'", p.name(),
          "': attention_unfused must have no masks and no dropout");
  return {s.cost(), [s] { return unfused_case(s); }};
}

std::vector<std::string> attention_names() {
  constexpr std::array<std::array<index_t, 4>, 8> kSizes = {{{1, 2, 128, 64},
                                                             {1, 12, 128, 32},
                                                             {1, 12, 128, 64},
                                                             {8, 12, 128, 64},
                                                             {1, 12, 512, 64},
                                                             {8, 12, 512, 64},
                                                             {1, 12, 2048, 64},
                                                             {1, 12, 4096, 64}}};
  std::vector<std::string> names;
  for (const auto& [b, h, t, d] : kSizes) {
    names.push_back(str_cat("attention/B:", b, "/H:", h, "/T:", t, "/d:", d));
  }
  for (const char* masks : {"/window:128", ""}) {
    names.push_back(str_cat("attention/B:1/H:12/T:8192/d:64", masks));
  }
  names.push_back("attention/B:1/H:12/G:4/T:512/d:64");
  for (const char* masks : {"/causal:1", "/length:800", "/mask:keep", "/mask:additive",
                            "/dropout:0.1", "/dtype:float64"}) {
    names.push_back(str_cat("attention/B:1/H:12/T:1024/d:64", masks));
  }
  return names;
}

/// Sizes without masks whose scores fit into memory, to be compared with those of `attention`.
std::vector<std::string> unfused_names() {
  std::vector<std::string> names;
  for (const index_t tokens : {128, 512, 2048}) {
    names.push_back(str_cat("attention_unfused/B:1/H:12/T:", tokens, "/d:64"));
  }
  return names;
}

void add(const char* kind, const char* pattern, const char* what, std::vector<std::string> names,
         Work (*work)(Parameters&)) {
  register_kind({.name = kind,
                 .pattern = std::string(kind) + pattern,
                 .what = what,
                 .names = std::move(names),
                 .work = work});
}

// ---- the ladder ----

// The size of attention/B:1/H:12/T:512/d:64.
constexpr index_t kHeads = 12;
constexpr index_t kTokens = 512;
constexpr index_t kWidth = 64;

AttentionInputs ladder_inputs() {
  AttentionSize size;
  size.heads = kHeads;
  size.queries = size.keys = kTokens;
  size.width = kWidth;
  return AttentionInputs(size);
}

Case attention_step_case(const AttentionStep& step) {
  const auto run = [step](const AttentionInputs& x) {
    Tensor out = Tensor::empty({1, kTokens, kHeads, kWidth});
    AttentionTask task = {.q = x.q.data<float>(),
                          .k = x.k.data<float>(),
                          .v = x.v.data<float>(),
                          .out = out.mutable_data<float>(),
                          .room = nullptr,
                          .heads = kHeads,
                          .tokens = kTokens,
                          .width = kWidth,
                          .workers = std::min<index_t>(thread_count(), kHeads)};
    Tensor room =
        Tensor::empty({step.room(task)});  // inside the call, like the library's workspace
    task.room = room.mutable_data<float>();
    step.run(task);
    return out.transpose(1, 2);
  };
  const AttentionInputs x = ladder_inputs();
  return {[x, run] { return run(x); }, [x](const Tensor& out) { return x.error(out); }, step.idea};
}

Case library_case() {
  const AttentionInputs x = ladder_inputs();
  return {[x] { return attention(x.q, x.k, x.v).output; },
          [x](const Tensor& out) { return x.error(out); }, "the library's attention"};
}

}  // namespace

void register_attention() {
  add("attention", AttentionSize::kPattern,
      "softmax(Q K^T / root d + mask) V, fused; Tq:1 is one query against a cache of keys; only "
      "pairs that causal, window and length leave count as work",
      attention_names(), fused_work);
  add("attention_unfused", "/B:/H:/T: or /Tq:/Tk:/d:[/dtype:float64]",
      "the same made of products and softmax, with all scores in memory", unfused_names(),
      unfused_work);
}

void register_attention_ladder() {
  constexpr Cost kCost = {.flops = 4.0 * kHeads * kTokens * kTokens * kWidth,
                          .bytes = 4.0 * sizeof(float) * kTokens * kHeads * kWidth};
  register_ladder(
      "attention_ladder", "attention from its definition to the library, one idea per step", kCost,
      kAttentionSteps, [](index_t step) {
        return step < kAttentionSteps ? attention_step_case(attention_ladder().steps[step])
                                      : library_case();
      });
}

}  // namespace tessera::bench
