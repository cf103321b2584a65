#include "tensor/kernels/dispatch.h"

#include <atomic>
#include <cstdlib>
#include <stdexcept>

#include "tensor/kernels/table.h"

namespace tessera {

namespace kernels {

namespace baseline {
const KernelTable& table() noexcept;
}
#if defined(__x86_64__)
namespace avx2 {
const KernelTable& table() noexcept;
}
#endif
#if defined(TESSERA_HAS_AVX512)
namespace avx512 {
const KernelTable& table() noexcept;
}
#endif

namespace {

struct Isa {
  const char* name;
  const KernelTable& (*table)() noexcept;
};

// __builtin_cpu_supports asks the operating system too: a processor whose wide registers the kernel
// does not save is reported without them.
std::vector<Isa> detect() {
  std::vector<Isa> isas = {{"baseline", baseline::table}};
#if defined(__x86_64__)
  __builtin_cpu_init();
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) {
    isas.push_back({"avx2", avx2::table});
#if defined(TESSERA_HAS_AVX512)
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
        __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw")) {
      isas.push_back({"avx512", avx512::table});
    }
#endif
  }
#endif
  return isas;
}

const std::vector<Isa>& detected() {
  static const std::vector<Isa> isas = detect();
  return isas;
}

const Isa* find(const std::string& name, const char* op) {
  std::string names;
  for (const Isa& isa : detected()) {
    if (isa.name == name) return &isa;
    names += std::string(names.empty() ? "" : ", ") + isa.name;
  }
  throw std::invalid_argument(std::string(op) + ": instruction set must be one of " + names +
                              ", got '" + name + "'");
}

std::atomic<const Isa*>& current() {
  static std::atomic<const Isa*> isa = [] {
    const char* forced = std::getenv("TESSERA_ISA");
    return forced != nullptr && *forced != '\0' ? find(forced, "TESSERA_ISA") : &detected().back();
  }();
  return isa;
}

}  // namespace

const KernelTable& table() {
  return current().load(std::memory_order_relaxed)->table();
}

}  // namespace kernels

std::vector<std::string> available_isas() {
  std::vector<std::string> names;
  for (const auto& isa : kernels::detected()) names.push_back(isa.name);
  return names;
}

std::string current_isa() {
  return kernels::current().load()->name;
}

void set_isa(const std::string& name) {
  kernels::current().store(kernels::find(name, "set_isa"));
}

}  // namespace tessera
