#include "bench/best_seconds.h"
#include "bench/ladders.h"
#include "examples/course/exercises/check.h"

namespace tessera::exercises::checks {

Matrix row_of(const Running& x) {
  return {{x.largest, x.sum, x.out[0], x.out[1]}};
}

/// m, l and O after two tiles, one with exp(s) = 4 and V = (0, 1), one with exp(s) = 1 and V = (1,
/// 0), in either order.
void a_tile_is_added() {
  const double low = 0, high = std::log(4.0);
  const auto both = [](double first, double second) {
    Running x;
    x.out = {0, 0};
    take_tile(x, {first}, {{1, 0}});
    take_tile(x, {second, second}, {{0, 1}, {0, 1}});
    return row_of(x);
  };
  expect_close(
      "take_tile of score 0, then twice log 4: m, l, O", both(low, high), {{high, 2.25, 0.25, 2}},
      {{{{high, 2.25, 1, 2}}, "O keeps its old terms: multiply them by exp(m - m') too"},
       {{{high, 3, 0.25, 2}}, "l keeps its old terms: multiply them by exp(m - m') too"},
       {{{high, 3, 1, 2}}, "m rises, but l and O keep their old terms: multiply by exp(m - m')"},
       {{{high, 6, 4, 2}}, "the factor is exp(m - m'), below 1, not exp(m' - m)"},
       {{{low, 9, 1, 8}}, "m must rise to the largest score so far"},
       {{{high, 9, 1, 8}}, "weights are exp(s - m), not exp(s)"},
       {{{high, 1.3125, 0.0625, 1.25}},
        "the factor is applied once per key; apply it once per tile"},
       {{{high, 2, 0, 2}}, "the older terms are lost"}});
  expect_close("take_tile of score log 4, then twice 0: m, l, O", both(high, low),
               {{high, 1.5, 1, 0.5}},
               {{{{low, 6, 4, 2}}, "m must not fall: it is the largest score of all tiles so far"},
                {{{high, 1.5, 4, 0.5}}, "exp(m - m') is 1 if m does not rise"}});
}

/// Random numbers for a task of this size, and memory for its output.
struct Inputs {
  index_t heads, tokens, width;
  Tensor q = uniform(-2, 2, {tokens, heads, width}), k = uniform(-2, 2, {tokens, heads, width}),
         v = uniform(-1, 1, {tokens, heads, width});
  std::vector<float> out = std::vector<float>(static_cast<std::size_t>(q.count()), NAN);

  bench::AttentionTask task() {
    return {q.data<float>(), k.data<float>(), v.data<float>(), out.data(), nullptr,
            heads,           tokens,          width,           1};
  }
};

void tiles_are_attention() {
  for (const auto& [tokens, width] : {std::pair<index_t, index_t>{7, 16}, {130, 24}, {300, 8}}) {
    Inputs x = {2, tokens, width};
    attend(x.task());
    const auto heads_of = [](const Tensor& all) { return all.to(kFloat64).transpose(0, 1); };
    const Tensor q = heads_of(x.q), k = heads_of(x.k), v = heads_of(x.v);  // (H, T, d)
    const auto merged = [](const Tensor& heads) { return heads.transpose(0, 1).flatten(1, 2); };
    const auto [output, weights] = attention(q, k, v, {}, {.need_weights = AttentionRequest{}});
    const index_t whole = tokens < 128 ? tokens : tokens / 128 * 128;
    const auto first_head = [](const Tensor& heads) {
      return heads.slice(0, 0, 1).expand({2, -1, -1});
    };
    expect_close(
        str_cat("attend, T = ", tokens, ", d = ", width), from_vector(x.out, {tokens, 2 * width}),
        merged(output),
        {{merged(attention(q, k, v, {}, {.scale = 1}).output), "scores must be divided by sqrt(d)"},
         {merged(attention(q, k.slice(1, 0, whole), v.slice(1, 0, whole)).output),
          "the last tile, which has fewer keys, is missing"},
         // The largest weight is exp(0) / l.
         {merged(output / max(weights, {-1}, true)), "O must be divided by l at the end"},
         {merged(attention(first_head(q), first_head(k), first_head(v)).output),
          "each head has q, k and v of its own"}},
        1e-5);
  }
}

void tiles_are_fast() {
  tiles_are_attention();
  Inputs x = {2, 256, 64};
  const bench::AttentionLadder ladder = bench::attention_ladder();
  for (const int step : {1, 3, 5}) {
    bench::AttentionTask task = x.task();
    std::vector<float> room(static_cast<std::size_t>(ladder.steps[step].room(task)));
    task.room = room.data();
    std::printf("  step %d of the ladder: %7.3f ms\n", step,
                1e3 * bench::best_seconds(0.03, [&] { ladder.steps[step].run(task); }));
  }
  std::printf("  step 3 by your attend: %6.3f ms, 2 heads, T = 256, d = 64\n",
              1e3 * bench::best_seconds(0.03, [&] { attend(x.task()); }));
}

std::vector<Exercise> all_exercises() {
  return {
      {"016.1 take_tile", "first the new m, then the factor for l and O, then the tile's terms",
       a_tile_is_added},
      {"016.2 attend",
       "for each block of queries: for each tile of keys: scores, take, weigh; O / l",
       tiles_are_fast},
  };
}

}  // namespace tessera::exercises::checks
