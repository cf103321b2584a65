// Times the steps of the ladder, and the library's own matmul at the end.
#include "bench/ladders.h"

#include <algorithm>
#include <cmath>

#include "bench/product_oracle.h"
#include "bench/registry.h"
#include "tensor/create.h"
#include "tensor/ops/matmul.h"
#include "tensor/random.h"

namespace tessera::bench {

namespace {

// A multiple of every tile's rows and columns. Not a power of two, for which the rows of B compete
// for the same few cache lines and the first steps seem worse than they are.
constexpr index_t kSize = 960;

/// A case of the product of two random matrices, computed by `run(a, b)`.
template <class Run>
Case ladder_case(const char* idea, const Run& run) {
  const Tensor a = uniform({kSize, kSize}, -1, 1);
  const Tensor b = uniform({kSize, kSize}, -1, 1);
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
