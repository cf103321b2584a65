// The entry point for libFuzzer, for the target TESSERA_FUZZ_TARGET.
#include <cstdint>
#include <cstdio>
#include <cstdlib>

#include "tests/fuzz/target.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string found = tessera::test::finding(tessera::test::TESSERA_FUZZ_TARGET,
                                                   {reinterpret_cast<const char*>(data), size});
  if (!found.empty()) {
    std::fprintf(stderr, "\nFinding: %s\n", found.c_str());
    std::abort();
  }
  return 0;
}
