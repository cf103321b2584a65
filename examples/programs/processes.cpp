#include "examples/programs/processes.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <exception>
#include <span>
#include <stdexcept>
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

constexpr index_t kTag = 0;
constexpr std::size_t kMessage = std::size_t{1} << 30;  // MPI counts with int

Launch* launch = nullptr;

/// mpirun shows the output of all of its processes.
void silence_standard_output() {
  const int nowhere = open("/dev/null", O_WRONLY);
  if (nowhere < 0 || dup2(nowhere, STDOUT_FILENO) < 0) {
    fail_file("/dev/null", "cannot be opened, but must take the standard output of ranks above 0");
  }
  close(nowhere);
}

/// Whether the exception that is being handled is a lost process.
bool is_process_lost() {
  try {
    throw;
  } catch (const nn::ProcessLost&) {
    return true;
  } catch (...) {
    return false;
  }
}

/// The time that a rank gives lower ranks to print their error and end all processes. If a process
/// was lost, the launcher also ends all, a second or two later: few ranks print, but at least one.
milliseconds patience(index_t rank) {
  const milliseconds of_rank_one{is_process_lost() ? 300 : 600};
  constexpr milliseconds kLongest{3000};
  return std::min(of_rank_one * (rank * rank), kLongest);
}

/// Calls `transfer` on each message of a text.
template <class Byte, class Transfer>
void for_each_message(std::span<Byte> text, const Transfer& transfer) {
  for (; !text.empty(); text = text.subspan(std::min(text.size(), kMessage))) {
    transfer(text.first(std::min(text.size(), kMessage)));
  }
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

std::string from_first(const std::function<std::string()>& read) {
  constexpr char kText = 't', kError = 'e';
  std::string mine;
  std::exception_ptr error;
  if (processes().rank() == 0) {
    try {
      mine = kText + read();
    } catch (const std::exception& thrown) {
      mine = std::string(1, kError) + thrown.what();
      error = std::current_exception();
    }
  }
  std::string first = std::move(processes().all_gather(mine).front());
  if (error) std::rethrow_exception(error);
  if (first.front() == kError) throw std::runtime_error(first.substr(1));
  return first.erase(0, 1);
}

void gather_at_first(std::span<const std::byte> mine,
                     const std::function<std::span<std::byte>(std::size_t)>& place) {
  nn::Communicator& group = processes();
  const std::size_t own = mine.size();
  const std::vector<std::string> sizes = group.all_gather(std::to_string(own));
  if (group.rank() > 0) {
    for_each_message(mine, [&](std::span<const std::byte> part) { group.send(0, kTag, part); });
    return group.wait();
  }
  std::size_t total = 0;
  for (const std::string& size : sizes) total += std::stoull(size);
  std::span<std::byte> rest = place(total).subspan(own);
  for (std::size_t rank = 1; rank < sizes.size(); ++rank) {
    const std::size_t size = std::stoull(sizes[rank]);
    for_each_message(rest.first(size), [&](std::span<std::byte> part) {
      group.receive(static_cast<index_t>(rank), kTag, part);
    });
    rest = rest.subspan(size);
  }
  group.wait();
}

std::string gather_in_order(std::string mine) {
  gather_at_first(std::as_bytes(std::span(mine)), [&](std::size_t size) {
    mine.resize(size);
    return std::as_writable_bytes(std::span(mine));
  });
  return leaves_traces() ? std::move(mine) : std::string();
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

void require_one_program(const std::string& name, nn::NamedTexts options) {
  if (processes().size() == 1) return;
  std::erase_if(options, [](const auto& option) { return option.first == "--threads"; });
  nn::NamedTexts facts = {
      {"the program", name},
      {"the version", str_cat(kVersionMajor, '.', kVersionMinor, '.', kVersionPatch)},
      {"the instruction set", kind_of_isa()}};
  facts.insert(facts.end(), options.begin(), options.end());
  nn::require_agreement(processes(), name.c_str(), facts);
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
