#include "examples/machine.h"

#include <array>
#include <ctime>
#include <fstream>
#include <string>
#include <thread>

#include "tensor/error.h"
#include "tensor/kernels/dispatch.h"
#include "tensor/kernels/parallel.h"

namespace tessera::examples {

namespace {

/// The processor's name as Linux tells it on x86-64.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

std::string compiler_name() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

std::string time_now() {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  std::array<char, 64> text{};
  gmtime_r(&now, &parts);
  std::strftime(text.data(), text.size(), "%Y-%m-%d %H:%M:%S UTC", &parts);
  return text.data();
}

}  // namespace

pages::Facts machine_facts() {
  return {{"processor", processor_name()},
          {"logical cores", format(std::thread::hardware_concurrency())},
          {"threads", format(thread_count())},
          {"instruction set", current_isa()},
          {"compiler", compiler_name()},
          {"begun", time_now()}};
}

}  // namespace tessera::examples
