// A replacement for a CBLAS with 64-bit sizes, which tessera_bench must refuse.
#include <cstddef>
#include <cstdint>

extern "C" {
std::size_t cblas_isamax(std::int64_t count, const float* x, std::int64_t step);
void cblas_sgemm();
void cblas_dgemm();
}

std::size_t cblas_isamax(std::int64_t count, const float* x, std::int64_t step) {
  std::size_t largest = 0;
  for (std::int64_t i = 0; i < count; ++i) {
    if (x[i * step] > x[static_cast<std::int64_t>(largest) * step]) {
      largest = static_cast<std::size_t>(i);
    }
  }
  return largest;
}

void cblas_sgemm() {}

void cblas_dgemm() {}
