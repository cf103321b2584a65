#include "bench/attention_inputs.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/ops.h"
#include "tensor/random.h"

namespace tessera::bench {

namespace {

constexpr double kTolerance = 1e-5;
constexpr std::uint64_t kDropoutKey = 7;

/// The dropout probability as rounded by the library.
double rounded(double p) {
  return std::round(p * 65536) / 65536;
}

}  // namespace

AttentionSize AttentionSize::of(Parameters& p) {
  AttentionSize s;
  s.batch = p.size("B", 1);
  s.heads = p.size("H", 1);
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

std::pair<index_t, index_t> AttentionSize::keys_of(index_t query) const {
  index_t first = 0;
  index_t stop = std::min(keys, length.value_or(keys));
  if (window) {
    first = std::max<index_t>(query - *window, 0);
    stop = std::min(stop, query + *window + 1);
  }
  if (causal) stop = std::min(stop, query + 1);
  return {first, std::max(first, stop)};
}

Cost AttentionSize::cost() const {
  double pairs = 0;
  for (index_t query = 0; query < queries; ++query) {
    const auto [first, stop] = keys_of(query);
    pairs += static_cast<double>(stop - first);
  }
  const auto all_heads = static_cast<double>(batch) * static_cast<double>(heads);
  const auto d = static_cast<double>(width);
  const double elements = all_heads * d * 2 * static_cast<double>(queries + keys) +
                          (mask == "additive" ? static_cast<double>(queries * keys) : 0);
  return {.flops = 4 * all_heads * pairs * d, .bytes = bytes_of(elements, dtype), .dtype = dtype};
}

AttentionInputs::AttentionInputs(const AttentionSize& s) : size(s) {
  const auto heads_of = [&](index_t tokens) {
    return uniform({s.batch, tokens, s.heads * s.width}, -1, 1, s.dtype)
        .unflatten(2, {s.heads, s.width})
        .transpose(1, 2);
  };
  q = heads_of(s.queries);
  k = heads_of(s.keys);
  v = heads_of(s.keys);
  if (s.mask == "keep") keep = bernoulli({s.queries, s.keys}, 0.5);
  if (s.mask == "additive") bias = uniform({s.queries, s.keys}, -1, 1, s.dtype);
}

AttentionMask AttentionInputs::mask() const {
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

AttentionOptions AttentionInputs::options() const {
  AttentionOptions options;
  options.dropout = {.p = size.dropout, .key = kDropoutKey};
  return options;
}

/// exp of the score, 0 if it is masked.
double AttentionInputs::softmax_weight(index_t head, index_t query, index_t key) const {
  if (keep.defined() && !keep.data<bool>()[query * size.keys + key]) return 0;
  const Elements x(q);
  const Elements y(k);
  const index_t b = head / size.heads;
  const index_t h = head % size.heads;
  const index_t row = b * q.strides()[0] + h * q.strides()[1] + query * q.strides()[2];
  const index_t column = b * k.strides()[0] + h * k.strides()[1] + key * k.strides()[2];
  double score = 0;
  for (index_t p = 0; p < size.width; ++p) score += x[row + p] * y[column + p];
  score /= std::sqrt(static_cast<double>(size.width));
  return std::exp(score + (bias.defined() ? Elements(bias)[query * size.keys + key] : 0));
}

/// Element (query, column) of one head.
double AttentionInputs::expected(index_t head, index_t query, index_t column) const {
  const Elements z(v);
  const index_t at = head / size.heads * v.strides()[0] + head % size.heads * v.strides()[1];
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

double AttentionInputs::error(const Tensor& out) const {
  if (size.dropout > 0) return dropout_error(out);
  const auto element = [&](index_t e) {
    const index_t row = e / size.width;
    return expected(row / size.queries, row % size.queries, e % size.width);
  };
  return sampled_error(out, 50, element, kTolerance);
}

/// Checks the weights that the op returns for some queries: the fraction p must be dropped, the
/// others must be those without dropout over 1 - p, and together they must give the output.
double AttentionInputs::dropout_error(const Tensor& out) const {
  const double p = rounded(size.dropout);
  std::vector<index_t> queries;
  const index_t count = std::min<index_t>(4, size.queries);
  for (index_t i = 0; i < count; ++i) queries.push_back(i * size.queries / count);
  AttentionOptions asking = options();
  asking.weights = AttentionRequest{.queries = queries};
  const Tensor weights = attention(q, k, v, mask(), asking).weights.to(kFloat64);
  asking.dropout = {};
  const Tensor plain = attention(q, k, v, mask(), asking).weights.to(kFloat64);
  const Tensor kept = where(eq(weights, 0), 0, plain / (1 - p));
  const Tensor rows = index_select(out, 2, from_vector(queries)).to(kFloat64);
  const double worst =
      max(abs(weights - kept)).item() + max(abs(rows - matmul(weights, v.to(kFloat64)))).item();
  const auto number_of = [](const Tensor& which) { return sum(which.to(kFloat64)).item(); };
  const double pairs = number_of(gt(plain, 0));
  const double dropped = number_of(logical_and(gt(plain, 0), eq(weights, 0)));
  const double deviations = std::abs(dropped - p * pairs) / std::sqrt(p * (1 - p) * pairs + 1);
  const double allowed = kTolerance / (1 - p) * (size.dtype == kFloat64 ? 1e-8 : 1);
  return std::isnan(worst) ? HUGE_VAL : std::max(worst / allowed, deviations / 6);
}

}  // namespace tessera::bench
