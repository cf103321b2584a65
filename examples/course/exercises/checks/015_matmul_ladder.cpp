#include "bench/best_seconds.h"
#include "bench/ladders.h"
#include "bench/matmul_ladder.h"
#include "examples/course/exercises/check.h"

namespace tessera::exercises::checks {

void time_is_the_slowest_port() {
  const Core core = {.ghz = 2, .multiply_adds = 2, .loads = 2, .stores = 1, .latency = 4};
  const auto expect_ms = [&](const char* what, const Loop& loop, double wanted) {
    const double others = loop.loads / core.loads + loop.stores / core.stores +
                          core.latency / loop.sums + 1 / core.multiply_adds;
    const double scale = 1e6 / loop.width / core.ghz * 1e-6;
    const double no_wait =
        std::max({1 / core.multiply_adds, loop.loads / core.loads, loop.stores / core.stores});
    expect_close(
        what, predicted_ms(loop, core, 1e6), wanted,
        {{wanted * loop.width, "a multiply-add computes loop.width products"},
         {wanted * 2, "a multiply-add is one instruction, though two operations"},
         {wanted * 1e3, "GHz are cycles per nanosecond: the result must be in milliseconds"},
         {wanted * 1e6, "cycles / GHz are nanoseconds: the result must be in milliseconds"},
         {others * scale, "ports work at the same time: the largest counts, not the sum"},
         {no_wait * scale, "a sum waits `latency` cycles for its last addition"},
         {std::max(no_wait, core.latency) * scale,
          "while a sum waits, the other sums start: latency / sums"}});
  };
  expect_ms("predicted_ms of step 0", {1, 2, 0, 1}, 2);
  expect_ms("predicted_ms of four sums", {1, 1, 0, 4}, 0.5);
  expect_ms("predicted_ms of step 2", {8, 2, 1, 64}, 0.0625);
  expect_ms("predicted_ms of many loads", {8, 6, 1, 64}, 0.1875);
  expect_ms("predicted_ms of step 3", {16, 0.5, 0, 24}, 0.015625);
}

/// All tiles of a product by multiply_tile, compiled for an instruction set.
struct Tiles {
  index_t rows, columns;
  void (*run)(const bench::Product& p);
};

template <int kBytes, int kRows>
[[gnu::always_inline]] inline void multiply_tiles(const bench::Product& p) {
  constexpr index_t kColumns = 2 * kBytes / static_cast<index_t>(sizeof(float));
  for (index_t j = 0; j < p.n; j += kColumns) {
    for (index_t i = 0; i < p.m; i += kRows) {
      multiply_tile<kBytes, kRows>(p.a + i * p.k, p.k, p.b + j, p.n, p.c + i * p.n + j, p.n, p.k);
    }
  }
}

#if defined(__x86_64__)
[[gnu::target("avx512f")]] inline void tiles_avx512(const bench::Product& p) {
  multiply_tiles<64, 12>(p);
}
[[gnu::target("avx2,fma")]] inline void tiles_avx2(const bench::Product& p) {
  multiply_tiles<32, 6>(p);
}
#endif
inline void tiles_baseline(const bench::Product& p) {
  multiply_tiles<16, 6>(p);
}

Tiles tiles_for(const std::string& isa) {
#if defined(__x86_64__)
  if (isa == "avx512") return {12, 32, tiles_avx512};
  if (isa == "avx2") return {6, 16, tiles_avx2};
#endif
  (void)isa;
  return {6, 8, tiles_baseline};
}

void a_tile_is_a_product() {
  constexpr double kStale = 7;
  const auto [rows, columns, run] = tiles_for(current_isa());
  // The depth is below the rows of a tile, so that a row and a column of A may be exchanged.
  const index_t m = 2 * rows, n = 3 * columns, depth = 5, panel = columns, height = rows;
  const Tensor a = uniform(-1, 1, {m, depth}), b = uniform(-1, 1, {depth, n});
  Tensor c = full({m, n}, kStale);
  run({a.data<float>(), b.data<float>(), c.mutable_data<float>(), nullptr, m, n, depth});
  const auto product = [](const Matrix& x, const Matrix& y) { return matmul(x, y); };
  const Matrix wanted = product(a, b);
  const Matrix stale = matrix_of(m, n, [&](index_t i, index_t j) { return wanted(i, j) + kStale; });
  const Matrix half = matrix_of(
      m, n, [&](index_t i, index_t j) { return j % panel < panel / 2 ? wanted(i, j) : kStale; });
  const Matrix packed_b = matrix_of(depth, n, [&](index_t k, index_t j) {
    return b.data<float>()[j / panel * panel + k * panel + j % panel];
  });
  const Matrix turned_a = matrix_of(m, depth, [&](index_t i, index_t k) {
    return a.data<float>()[(i / height * height + k) * depth + i % height];
  });
  expect_close(
      "multiply_tile", c, wanted,
      {{stale, "sums must start at 0, not at what C held"},
       {product(a.slice(1, 0, -1), b.slice(0, 0, -1)), "the last k is missing"},
       {product(a.slice(1, -1), b.slice(0, -1)),
        "the products over k must be added: only the last one is there"},
       {half, "a tile has two vectors of columns, and only the first is stored"},
       {product(a, packed_b), "row k of B is at b + k * b_row; a tile is only a part of B's row"},
       {product(turned_a, b), "A[r][k] is a[r * a_row + k]: row and column are exchanged"}},
      1e-5);
}

/// The ladder's steps on one thread, next to the prediction of the formula.
void print_times() {
  constexpr index_t kSize = 480;
  const auto best_ms = [](const auto& run) { return 1e3 * bench::best_seconds(0.03, run); };
  const bench::ProbeLoops loops = bench::probe_loops();
  const Tiles tiles = tiles_for(current_isa());
  const double lanes = static_cast<double>(tiles.columns) / 2;
  const auto chain = static_cast<double>(bench::addition_chain());
  if (chain == 0) return;  // no clock
  const double ghz = chain / best_ms([] { bench::addition_chain(); }) * 1e-6;
  const double flops = loops.flops / best_ms([&] { loops.chains(); }) * 1e-6;
  const Core core = {ghz, std::max(1.0, std::round(flops / 2 / lanes / ghz)), 2, 1, 4};
  std::printf("  %td^3 on one thread, %.2f GHz, %.0f multiply-adds of %.0f numbers per cycle\n",
              kSize, ghz, core.multiply_adds, lanes);
  const double rows = static_cast<double>(tiles.rows);
  const Loop shapes[] = {{1, 2, 0, 1},
                         {1, 2, 1, 480},
                         {lanes, 2, 1, 480 / lanes},
                         {lanes, (2 + rows) / (2 * rows), 0, 2 * rows}};
  const bench::Ladder ladder = bench::matmul_ladder();
  const Tensor a = uniform(-1, 1, {kSize, kSize}), b = uniform(-1, 1, {kSize, kSize});
  std::vector<float> c(kSize * kSize);
  const bench::Product p = {a.data<float>(), b.data<float>(), c.data(), nullptr,
                            kSize,           kSize,           kSize};
  for (std::size_t step = 0; step < std::size(shapes); ++step) {
    std::printf("  step %zu: predicted %7.2f ms, measured %7.2f ms\n", step,
                predicted_ms(shapes[step], core, 1.0 * kSize * kSize * kSize),
                best_ms([&] { ladder.steps[step].run(p); }));
  }
  std::printf("  (the prediction has no time for B to arrive; step 2 waits for it)\n");
  std::printf("  step 3 by your multiply_tile:      %7.2f ms\n", best_ms([&] { tiles.run(p); }));
}

void a_tile_is_fast() {
  a_tile_is_a_product();
  print_times();
}

std::vector<Exercise> all_exercises() {
  return {
      {"015.1 predicted_ms", "cycles = the largest of four quotients; then cycles / GHz, in ms",
       time_is_the_slowest_port},
      {"015.2 multiply_tile", "zero the sums; for each k two vectors of B, then each row; store",
       a_tile_is_fast},
  };
}

}  // namespace tessera::exercises::checks
