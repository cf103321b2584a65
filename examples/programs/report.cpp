#include "examples/programs/report.h"

#include <algorithm>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <system_error>
#include <thread>

#include "examples/programs/host.h"
#include "examples/programs/processes.h"
#include "tensor/error.h"
#include "tensor/kernels/dispatch.h"
#include "tensor/kernels/parallel.h"

namespace tessera::examples {

namespace {

std::string compiler_name() {
#if defined(__clang__)
  return "Clang " __clang_version__;
#else
  return "GCC " __VERSION__;
#endif
}

}  // namespace

pages::Facts machine_facts() {
  return {{"processor", processor().name},
          {"logical cores", str_cat(std::thread::hardware_concurrency())},
          {"processes", str_cat(processes().size())},
          {"threads of a process", str_cat(thread_count())},
          {"instruction set", current_isa()},
          {"compiler", compiler_name()},
          {"begun", utc_now("%Y-%m-%d %H:%M:%S UTC")}};
}

std::optional<std::string> Report::earlier_log() const {
  std::error_code error;
  if (!is_wanted() || !std::filesystem::is_regular_file(file_, error)) return std::nullopt;
  std::ostringstream html;
  html << std::ifstream(file_, std::ios::binary).rdbuf();
  return pages::log_in_page(html.str(), page_.run);
}

void Report::write(const std::string& state, const std::string& log, bool is_running) {
  if (!is_wanted() || !leaves_traces()) return;
  const Clock::time_point begin = Clock::now();
  page_.state = state;
  page_.is_running = is_running;
  page_.log = log;
  pages::write_page(file_, pages::training_page(page_));
  page_.log.clear();
  written_ = Clock::now();
  cost_ = std::chrono::duration<double>(written_ - begin).count();
}

void Report::write_after(double seconds, const std::string& state, const std::string& log) {
  if (!is_wanted()) return;
  constexpr double kShare = 100;
  const double passed = std::chrono::duration<double>(Clock::now() - written_).count();
  if (passed >= std::max(seconds, kShare * cost_)) write(state, log, true);
}

}  // namespace tessera::examples
