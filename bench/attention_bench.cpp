// Fused attention, separately and compared with the ops that it replaces.
#include <array>
#include <cmath>

#include "bench/attention_inputs.h"
#include "bench/registry.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/matmul.h"
#include "tensor/ops/softmax.h"

namespace tessera::bench {

namespace {

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

}  // namespace tessera::bench
