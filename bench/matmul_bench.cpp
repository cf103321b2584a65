// matmul with plain or transposed operands, one product or a batch, and its ladder.
#include <algorithm>
#include <cmath>

#include "bench/ladders.h"
#include "bench/oracles.h"
#include "bench/registry.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/matmul.h"
#include "tessera/tensor/random.h"

namespace tessera::bench {

namespace {

/// C (B, M, N) = A (B, M, K) B (B, K, N); a transposed operand is a view of its transpose.
struct BatchedProduct {
  index_t batch, m, n, k;
  bool transpose_a, transpose_b;
  DType dtype;

  Tensor operand(index_t rows, index_t columns, bool transposed) const {
    Shape shape = transposed ? Shape{columns, rows} : Shape{rows, columns};
    if (batch > 1) shape.insert(0, batch);
    const Tensor x = uniform(-1, 1, shape, dtype);
    return transposed ? x.transpose(-1, -2) : x;
  }
};

Case matmul_case(const BatchedProduct& p) {
  const Tensor a = p.operand(p.m, p.k, p.transpose_a);
  const Tensor b = p.operand(p.k, p.n, p.transpose_b);
  return {[=] { return matmul(a, b); }, [=](const Tensor& c) { return product_error(a, b, c); }};
}

Kind matmul_kind(const std::string& name, const std::string& what, bool transpose_a,
                 bool transpose_b) {
  const auto work = [=](Parameters& parameters) {
    const BatchedProduct p = {parameters.size("B", 1), parameters.size("M"), parameters.size("N"),
                              parameters.size("K"),    transpose_a,          transpose_b,
                              parameters.dtype()};
    return Work{product_cost(p.m, p.n, p.k, p.batch, p.dtype), [p] { return matmul_case(p); }};
  };
  return {
      .name = name, .pattern = name + "/M:/N:/K:[/B:][/dtype:float64]", .what = what, .work = work};
}

// ---- the ladder ----

// A multiple of every tile's rows and columns. Not a power of two, for which the rows of B compete
// for the same few cache lines and the first steps seem worse than they are.
constexpr index_t kSize = 960;

/// A case of the product of two random matrices, computed by `run(a, b)`.
template <class Run>
Case ladder_case(const char* idea, const Run& run) {
  const Tensor a = uniform(-1, 1, {kSize, kSize});
  const Tensor b = uniform(-1, 1, {kSize, kSize});
  const auto error = [a, b](const Tensor& c) {
    const Tensor want = matmul(a, b);  // every step has the same bits
    if (!std::equal(want.data<float>(), want.data<float>() + want.count(), c.data<float>())) {
      return HUGE_VAL;
    }
    return product_error(a, b, c);
  };
  return {[a, b, run] { return run(a, b); }, error, idea};
}

Case step_case(const LadderStep& step) {
  const Tensor packed = zeros({kSize, kSize});
  return ladder_case(step.idea, [step, packed](const Tensor& a, const Tensor& b) {
    Tensor c = Tensor::empty({kSize, kSize});
    Tensor room = packed;
    step.run({a.data<float>(), b.data<float>(), c.mutable_data<float>(), room.mutable_data<float>(),
              kSize, kSize, kSize});
    return c;
  });
}

}  // namespace

void register_matmul() {
  Kind plain = matmul_kind("matmul", "C = A B, B packed inside the call", false, false);
  const auto add = [&](index_t m, index_t n, index_t k) {
    plain.names.push_back(str_cat("matmul/M:", m, "/N:", n, "/K:", k));
  };
  for (const index_t size : {64, 128, 256, 512, 1000, 1024, 2048}) add(size, size, size);
  for (const index_t m : {1, 8, 17, 128}) add(m, 768, 768);
  add(128, 3072, 768);
  add(128, 768, 3072);
  add(512, 768, 768);
  add(2048, 64, 2048);
  add(2048, 2048, 64);
  plain.names.push_back("matmul/M:384/N:384/K:384/dtype:float64");
  plain.names.push_back("matmul/M:96/N:96/K:96/B:8");
  register_kind(std::move(plain));
  Kind nt = matmul_kind("matmul_nt", "C = A B^T, as gradients of inputs and scores", false, true);
  nt.names = {"matmul_nt/M:512/N:768/K:768"};
  register_kind(std::move(nt));
  Kind tn = matmul_kind("matmul_tn", "C = A^T B, as gradients of weights", true, false);
  tn.names = {"matmul_tn/M:768/N:768/K:512"};
  register_kind(std::move(tn));
}

void register_matmul_ladder() {
  constexpr double kFlops = 2.0 * kSize * kSize * kSize;
  register_ladder("matmul_ladder", "matmul from its definition to the library, one idea per step",
                  {.flops = kFlops}, kLadderSteps, [](index_t step) {
                    if (step < kLadderSteps) return step_case(matmul_ladder().steps[step]);
                    return ladder_case(
                        "the library's matmul",
                        [](const Tensor& a, const Tensor& b) { return matmul(a, b); });
                  });
}

}  // namespace tessera::bench
