// Fused attention, by itself and compared with the ops it replaces.
#include <algorithm>
#include <array>
#include <cmath>

#include "bench/attention_inputs.h"
#include "bench/registry.h"
#include "tensor/error.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/matmul.h"
#include "tensor/ops/softmax.h"
#include "tensor/storage.h"

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

/// Counts memory beyond the inputs and the output as an error where it passes 64 MB.
Case long_case(const AttentionSize& s) {
  const AttentionInputs x(s);
  return {[=] { return attention(x.q, x.k, x.v).output; },
          [=](const Tensor& out) {
            const auto held = [] { return memory_stats().in_use + memory_stats().cached; };
            release_cached_memory();
            const index_t before = held();
            const Tensor again = attention(x.q, x.k, x.v).output;
            const index_t extra = held() - before - again.count() * index_t{sizeof(float)};
            return std::max(x.error(out), static_cast<double>(extra) / 64e6);
          }};
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

Work long_work(Parameters& p) {
  AttentionSize s;
  s.heads = p.size("H", 1);
  s.queries = s.keys = p.size("T");
  s.width = p.size("d");
  return {s.cost(), [s] { return long_case(s); }};
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

/// Sizes from one query on, then head widths.
std::vector<std::string> fused_names(const char* kind) {
  constexpr std::array<std::array<index_t, 4>, 14> kSizes = {{{12, 1, 128, 64},
                                                              {12, 1, 2048, 64},
                                                              {12, 8, 8, 64},
                                                              {1, 8, 8, 64},
                                                              {12, 17, 33, 64},
                                                              {12, 64, 64, 64},
                                                              {1, 128, 128, 64},
                                                              {12, 512, 512, 64},
                                                              {12, 128, 128, 1},
                                                              {12, 128, 128, 3},
                                                              {12, 128, 128, 32},
                                                              {12, 128, 128, 128},
                                                              {12, 128, 128, 256},
                                                              {2, 512, 512, 256}}};
  std::vector<std::string> names;
  for (const auto& [h, queries, keys, d] : kSizes) {
    names.push_back(str_cat(kind, "/B:1/H:", h, "/Tq:", queries, "/Tk:", keys, "/d:", d));
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
  add("attention_long", "/T:/d:[/H:]",
      "the same; using more than 64 MB besides the output is an error",
      {"attention_long/T:32768/d:64"}, long_work);
  add("attention_fused", AttentionSize::kPattern,
      "as attention, for comparison with attention_unfused", fused_names("attention_fused"),
      fused_work);
  add("attention_unfused", "/B:/H:/T: or /Tq:/Tk:/d:[/dtype:float64]",
      "the same made of products and softmax, with all scores in memory",
      fused_names("attention_unfused"), unfused_work);
}

}  // namespace tessera::bench
