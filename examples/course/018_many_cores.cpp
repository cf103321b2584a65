// Many cores, equal bits: why a sum depends on the number of its parts, and a product that does
// not.
#include <cstdint>
#include <cstdio>
#include <span>
#include <vector>

#include <tessera/nn/training/detail/digest.h>
#include <tessera/tensor/create.h>
#include <tessera/tensor/kernels/parallel.h>
#include <tessera/tensor/ops/matmul.h>
#include <tessera/tensor/random.h>
#include "examples/course/example.h"

using namespace tessera;
using namespace tessera::examples;

namespace {

const std::vector<float> kTerms = {1, 1, 1e8F, -1e8F, 1, 1};

/// The first term of a part.
std::size_t begin_of(std::size_t part, std::size_t parts, std::size_t count) {
  return count * part / parts;
}

/// The running sums of each part, in order: each starts again at its first term.
std::vector<float> running_sums(std::size_t parts) {
  std::vector<float> sums(kTerms);
  for (std::size_t part = 0; part < parts; ++part) {
    const std::size_t end = begin_of(part + 1, parts, kTerms.size());
    for (std::size_t i = begin_of(part, parts, kTerms.size()) + 1; i < end; ++i) {
      sums[i] = sums[i - 1] + kTerms[i];
    }
  }
  return sums;
}

/// The sum of the parts' sums, in the order of the parts.
float sum_of(std::size_t parts) {
  const std::vector<float> sums = running_sums(parts);
  float total = 0;
  for (std::size_t part = 1; part <= parts; ++part) {
    total += sums[begin_of(part, parts, sums.size()) - 1];
  }
  return total;
}

/// x . y with `threads` threads, as in the manuals of OpenMP.
float naive_dot(std::span<const float> x, std::span<const float> y, int threads) {
  float sum = 0;
  (void)threads;  // without OpenMP
#if defined(_OPENMP)
#pragma omp parallel for reduction(+ : sum) num_threads(threads) schedule(static)
#endif
  for (std::size_t k = 0; k < x.size(); ++k) sum += x[k] * y[k];
  return sum;
}

std::uint64_t digest_of(const Tensor& x) {
  nn::Digest digest;
  digest.add(std::as_bytes(std::span(x.data<float>(), static_cast<std::size_t>(x.count()))));
  return digest.value();
}

constexpr index_t kDepth = 4096;

void print_product() {
  Rng rng(16);
  const Tensor a = uniform(-1, 1, {64, kDepth}, kFloat32, rng);
  // Powers of 2: every product is exact, so the bits are the same on every processor.
  Tensor b = zeros({kDepth, 64});
  for (index_t i = 0; i < b.count(); ++i) {
    const float power = 1.0F / static_cast<float>(1 << i % 5);
    b.mutable_data<float>()[i] = i % 3 == 0 ? -power : power;
  }
  std::printf("C = A B, (64, %td) times (%td, 64), by the library: a hash of C's bits\n", kDepth,
              kDepth);
  for (const int threads : {1, 2, 3, 8}) {
    set_thread_count(threads);
    std::printf("%d: %016llx\n", threads, static_cast<unsigned long long>(digest_of(matmul(a, b))));
  }
  set_thread_count(0);
  std::printf("\nC[0][0], by omp parallel for reduction(+ : sum)\n");
  const Tensor column = b.t().contiguous();
  constexpr auto kTermCount = static_cast<std::size_t>(kDepth);
  for (const int threads : {1, 2, 3, 8}) {
    const float sum =
        naive_dot({a.data<float>(), kTermCount}, {column.data<float>(), kTermCount}, threads);
    std::printf("%d: %a\n", threads, static_cast<double>(sum));
  }
}

}  // namespace

int main() {
  return run_example("018_many_cores", [] {
    std::printf("1 + 1 + 1e8 - 1e8 + 1 + 1 in float32, by the number of parts\n");
    for (std::size_t parts = 1; parts <= 3; ++parts) {
      std::printf("%zu: %g\n", parts, static_cast<double>(sum_of(parts)));
    }
    std::printf("\n");
    print_product();
  });
}
