#include "examples/programs/processes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <thread>
#include <utility>
#include <vector>

#include "examples/programs/console.h"
#include "examples/programs/processes_launch.h"
#include "tensor/error.h"
#include "tensor/kernels/dispatch.h"
#include "tensor/kernels/parallel.h"
#include "tensor/version.h"

namespace tessera::examples {

namespace {

using std::chrono::milliseconds;

Launch* launch = nullptr;

/// mpirun shows the output of all of its processes.
void silence_standard_output() {
  const int nowhere = open("/dev/null", O_WRONLY);
  if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0) {
    fail_file("/dev/null", "cannot be opened, but must take the standard output of ranks above 0");
  }
  close(nowhere);
}

/// The time that a rank gives lower ranks to print their error and end all processes.
milliseconds patience(index_t rank) {
  return std::min(milliseconds(600) * (rank * rank), milliseconds(3000));
}

}  // namespace

nn::Communicator& processes() {
  static nn::OneProcess alone;
  return launch != nullptr ? *launch->processes : alone;
}

int default_threads() {
  if (processes().size() == 1) return 0;
  // By default the library uses one thread while other programs use the processors; a given number
  // is always used.
  return launch->threads == thread_count() ? 0 : launch->threads;
}

ProcessesScope::ProcessesScope() : launch_(join_launch()) {
  launch = &launch_;
  if (processes().rank() > 0) silence_standard_output();
}

ProcessesScope::~ProcessesScope() {
  launch = nullptr;
}

namespace {

/// The instruction sets that give the same bits as the present one: on x86-64 all with fused
/// multiply-add, which the baseline lacks; on other processors all.
std::string kind_of_isa() {
#if defined(__x86_64__)
  return current_isa() == "baseline" ? "baseline" : "avx2 or avx512";
#else
  return "any";
#endif
}

}  // namespace

void require_one_program(const std::string& name,
                         const std::vector<std::pair<std::string, std::string>>& options) {
  const auto check = [&](const std::string& what, const std::string& text) {
    nn::require_same(processes(), name.c_str(), what, text);
  };
  check("the program", name);
  check("the version", str_cat(kVersionMajor, '.', kVersionMinor, '.', kVersionPatch));
  check("the instruction set", kind_of_isa());
  for (const auto& [option, value] : options) {
    if (option != "--threads") check(option, value);
  }
}

int report_failure(const std::string& name, std::string error) {
  const index_t rank = processes().rank();
  if (rank > 0) {
    std::this_thread::sleep_for(patience(rank));
    const std::string prefix = name + ": ";
    if (error.starts_with(prefix)) error.erase(0, prefix.size());
    error = str_cat("rank ", rank, ": ", error);
  }
  const int code = report_error(name, error);
  if (processes().size() > 1) launch->end_all(code);
  return code;
}

}  // namespace tessera::examples
