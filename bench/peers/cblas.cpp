// matmul by a CBLAS library that is opened at run time.
#include <dlfcn.h>

#include <array>
#include <cstdint>
#include <filesystem>
#include <limits>
#include <utility>

#include "bench/oracles.h"
#include "bench/peers/peers.h"
#include "bench/registry.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/random.h"

namespace tessera::bench {

namespace {

// From the standard's enumerations.
constexpr int kRowMajor = 101;
constexpr int kNoTranspose = 111;

template <class T>
using Gemm = void (*)(int order, int transpose_a, int transpose_b, int m, int n, int k, T alpha,
                      const T* a, int lda, const T* b, int ldb, T beta, T* c, int ldc);

struct Library {
  std::string name;
  Gemm<float> sgemm;
  Gemm<double> dgemm;
};

template <class Function>
Function symbol(void* library, const std::string& file, const char* name) {
  void* const found = dlsym(library, name);
  if (found == nullptr) fail_file(file, "must be a CBLAS library, got one without ", name);
  return reinterpret_cast<Function>(found);
}

/// Whether sizes have 64 bits, as in interfaces for very large matrices. In a register, the length
/// passed here is 3 for a library that reads only the lower half. For one that reads all of it, the
/// length is negative, and the position of the largest number is 0.
bool has_wide_sizes(void* library, const std::string& file) {
  using Largest = std::size_t (*)(std::int64_t count, const float* x, std::int64_t step);
  constexpr std::array<float, 3> kNumbers = {1, 3, 2};
  const auto largest = symbol<Largest>(library, file, "cblas_isamax");
  return static_cast<std::uint32_t>(largest(3 - (std::int64_t{1} << 32), kNumbers.data(), 1)) == 0;
}

/// "openblas" for "/usr/lib/libopenblas.so.0".
std::string name_of(const std::string& file) {
  std::string name = std::filesystem::path(file).filename().string();
  name = name.substr(0, name.find('.'));
  return name.starts_with("lib") ? name.substr(3) : name;
}

/// OpenBLAS, MKL and BLIS each have a function for this; others read OMP_NUM_THREADS.
void set_threads(void* library, index_t threads) {
  for (const char* name : {"openblas_set_num_threads", "MKL_Set_Num_Threads"}) {
    if (void* const call = dlsym(library, name)) {
      reinterpret_cast<void (*)(int)>(call)(static_cast<int>(threads));
    }
  }
  if (void* const call = dlsym(library, "bli_thread_set_num_threads")) {
    reinterpret_cast<void (*)(index_t)>(call)(threads);
  }
}

template <class T>
void multiply(Gemm<T> gemm, const Tensor& a, const Tensor& b, Tensor& c, index_t batch) {
  const auto at = [](index_t size) { return static_cast<int>(size); };
  const index_t m = a.size(-2);
  const index_t k = a.size(-1);
  const index_t n = b.size(-1);
  T* const out = c.mutable_data<T>();
  for (index_t i = 0; i < batch; ++i) {
    gemm(kRowMajor, kNoTranspose, kNoTranspose, at(m), at(n), at(k), 1, a.data<T>() + i * m * k,
         at(k), b.data<T>() + i * k * n, at(n), 0, out + i * m * n, at(n));
  }
}

struct CblasProduct {
  index_t batch, m, n, k;
  DType dtype;
};

Case product_case(const Library& library, const CblasProduct& p) {
  const Tensor a = uniform(-1, 1, {p.batch, p.m, p.k}, p.dtype);
  const Tensor b = uniform(-1, 1, {p.batch, p.k, p.n}, p.dtype);
  const auto run = [=] {
    Tensor c = Tensor::empty({p.batch, p.m, p.n}, p.dtype);
    if (p.dtype == kFloat32) {
      multiply<float>(library.sgemm, a, b, c, p.batch);
    } else {
      multiply<double>(library.dgemm, a, b, c, p.batch);
    }
    return c;
  };
  return {run, [=](const Tensor& c) { return product_error(a, b, c); }};
}

}  // namespace

void register_cblas(const std::string& file) {
  void* const library = dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    const char* const why = dlerror();
    fail_file(file, "cannot be opened: ", why != nullptr ? why : "unknown");
  }
  const Library found = {.name = name_of(file),
                         .sgemm = symbol<Gemm<float>>(library, file, "cblas_sgemm"),
                         .dgemm = symbol<Gemm<double>>(library, file, "cblas_dgemm")};
  if (has_wide_sizes(library, file)) {
    fail_file(file, "must be a CBLAS library with 32-bit sizes, got 64-bit sizes");
  }
  set_threads(library, thread_count());
  const auto work = [found](Parameters& parameters) {
    const auto size = [&](const char* key) {
      return parameters.size(key, {}, 1, std::numeric_limits<int>::max());
    };
    const CblasProduct p = {parameters.size("B", 1), size("M"), size("N"), size("K"),
                            parameters.dtype()};
    return Work{product_cost(p.m, p.n, p.k, p.batch, p.dtype),
                [found, p] { return product_case(found, p); }};
  };
  register_kind({.name = "matmul",
                 .pattern = "matmul/M:/N:/K:[/B:][/dtype:float64]",
                 .what = "cblas_sgemm, cblas_dgemm",
                 .work = work,
                 .by = found.name});
}

}  // namespace tessera::bench
