#include "tessera/tensor/kernels/dispatch.h"

#include <atomic>
#include <cstdlib>
#include <stdexcept>

#if defined(__x86_64__)
#include <cpuid.h>
#elif defined(__aarch64__)
#include <sys/auxv.h>
#endif

#include "tessera/tensor/kernels/table.h"

namespace tessera {

namespace kernels {

// The tables that the files of isa/ define.
namespace baseline {
extern const FloatKernels<float> kFloat32Kernels;
extern const Int8Kernels kInt8Kernels;
}  // namespace baseline
namespace baseline_float64 {
extern const FloatKernels<double> kFloat64Kernels;
}
#if defined(__x86_64__)
namespace avx2 {
extern const FloatKernels<float> kFloat32Kernels;
extern const Int8Kernels kInt8Kernels;
}  // namespace avx2
namespace avx2_float64 {
extern const FloatKernels<double> kFloat64Kernels;
}
#elif defined(__aarch64__)
namespace dotprod {
extern const FloatKernels<float> kFloat32Kernels;
extern const Int8Kernels kInt8Kernels;
}  // namespace dotprod
#endif
#if defined(TESSERA_HAS_AVX512)
namespace avx512 {
extern const FloatKernels<float> kFloat32Kernels;
extern const Int8Kernels kInt8Kernels;
}  // namespace avx512
#endif

namespace {

#if defined(__x86_64__)
/// Whether the processor has AVX-VNNI; some compilers have no name for it.
bool has_avx_vnni() {
  constexpr unsigned kBit = 1U << 4;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return __get_cpuid_count(7, 1, &a, &b, &c, &d) != 0 && (a & kBit) != 0;
}
#endif

// __builtin_cpu_supports also checks that the operating system saves the wide registers; if it does
// not, the instruction set counts as missing.
std::vector<IsaKernels> detect() {
  std::vector<IsaKernels> isas = {{"baseline", &baseline::kFloat32Kernels,
                                   &baseline_float64::kFloat64Kernels, &baseline::kInt8Kernels}};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    isas.push_back({"avx2", &avx2::kFloat32Kernels, &avx2_float64::kFloat64Kernels,
                    &avx2::kInt8Kernels, has_avx_vnni()});
#if defined(TESSERA_HAS_AVX512)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
      const bool has_vnni = __builtin_cpu_supports("avx512vnni") != 0;
      // float64 is for checks of gradients: AVX2's kernels give the same bits.
      isas.push_back({"avx512", &avx512::kFloat32Kernels, &avx2_float64::kFloat64Kernels,
                      &avx512::kInt8Kernels, has_vnni});
    }
#endif
  }
#elif defined(__aarch64__)
  if ((getauxval(AT_HWCAP) & HWCAP_ASIMDDP) != 0) {
    isas.push_back({"dotprod", &dotprod::kFloat32Kernels, &baseline_float64::kFloat64Kernels,
                    &dotprod::kInt8Kernels, true});
  }
#endif
  return isas;
}

const std::vector<IsaKernels>& detected() {
  static const std::vector<IsaKernels> isas = detect();
  return isas;
}

const IsaKernels* find(const std::string& name, const char* op) {
  std::string names;
  for (const IsaKernels& one : detected()) {
    if (one.isa == name) return &one;
    names += std::string(names.empty() ? "" : ", ") + one.isa;
  }
  throw std::invalid_argument(std::string(op) + ": instruction set must be one of " + names +
                              ", got '" + name + "'");
}

std::atomic<const IsaKernels*>& current() {
  static std::atomic<const IsaKernels*> kernels = [] {
    const char* forced = std::getenv("TESSERA_ISA");
    return forced != nullptr && *forced != '\0' ? find(forced, "TESSERA_ISA") : &detected().back();
  }();
  return kernels;
}

std::atomic<bool>& dots_allowed() {
  static std::atomic<bool> allowed = [] {
    const char* const value = std::getenv("TESSERA_DOT_PRODUCTS");
    const std::string text = value != nullptr ? value : "";
    if (text.empty() || text == "1") return true;
    if (text == "0") return false;
    throw std::invalid_argument("TESSERA_DOT_PRODUCTS: value must be 0 or 1, got '" + text + "'");
  }();
  return allowed;
}

}  // namespace

const IsaKernels& isa_kernels() {
  return *current().load(std::memory_order_relaxed);
}

bool dot_products(const IsaKernels& kernels) {
  const bool allowed = dots_allowed().load(std::memory_order_relaxed);  // may throw
  return kernels.has_dots && allowed;
}

}  // namespace kernels

std::vector<std::string> available_isas() {
  std::vector<std::string> names;
  for (const auto& one : kernels::detected()) names.push_back(one.isa);
  return names;
}

std::string current_isa() {
  return kernels::isa_kernels().isa;
}

bool dot_products() {
  return kernels::dot_products(kernels::isa_kernels());
}

void set_dot_products(bool allowed) {
  kernels::dots_allowed().store(allowed);
}

void set_isa(const std::string& name) {
  kernels::current().store(kernels::find(name, "set_isa"));
}

}  // namespace tessera
