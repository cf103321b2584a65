// Reads a file in a separate process, which is measured.
#pragma once

#include <gtest/gtest.h>
#include <malloc.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdint>
#include <exception>
#include <fstream>
#include <map>
#include <string>

#include "tests/support/limits.h"

namespace tessera::test {

/// A line of /proc/self/status in KiB; 0 if there is none.
inline long status_kib(const std::string& key) {
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(key + ":")) return std::stol(line.substr(key.size() + 1));
  }
  return 0;
}

/// How many times slower this processor is than the one for which limits.h was written; at least 1.
/// Measured by a computation that reads and allocates as a parser does, and that took 0.05 s there.
inline double slowness() {
  const double start = processor_seconds();
  std::map<std::string, std::uint64_t> places;
  for (std::uint64_t i = 0; i < 100'000; ++i) {
    places["a key that is allocated " + std::to_string(i * 0x9e3779b97f4a7c15)] = i;
  }
  return std::max(1.0, (processor_seconds() - start) / 0.05);
}

/// Runs `body` in a separate process, and returns the error with which it ends, "" for none. Fails
/// if `body` takes more time or memory than limits.h allows for a file and a text of these sizes. A
/// slower processor or a sanitizer raises the time limit. With a sanitizer, memory is not measured.
template <class Body>
std::string within_bounds(std::size_t bytes, const Body& body, std::size_t text_bytes = 0) {
  int ends[2];
  if (pipe(ends) != 0) return "no pipe";
  const pid_t child = fork();
  if (child == 0) {
    // Otherwise glibc's malloc keeps up to 64 MiB of a long text's freed memory.
    if (text_bytes > 0) mallopt(M_MMAP_THRESHOLD, 1 << 17);
    const long before = status_kib("VmRSS");
    const double start = processor_seconds();
    std::string error;
    try {
      body();
    } catch (const std::exception& caught) {
      error = caught.what();
    }
    const double seconds = processor_seconds() - start;
    const long taken = status_kib("VmHWM") - before;
    const long allowed = (kMostBytes + static_cast<long>(bytes) +
                          kMostBytesPerByte * static_cast<long>(text_bytes)) /
                         1024;
    // A sanitizer slows parsers more than slowness() measures: its allocator slows both.
    const double most_seconds =
        (is_sanitized() ? 8 : 1) *
        (kMostSeconds + kMostSecondsPerByte * static_cast<double>(text_bytes));
    std::string answer = "." + error;
    if (seconds > most_seconds && seconds > slowness() * most_seconds) {
      answer = "took " + std::to_string(seconds) + " seconds";
    } else if (!is_sanitized() && taken > allowed) {
      answer = "took " + std::to_string(taken) + " KiB, not " + std::to_string(allowed);
    }
    if (write(ends[1], answer.data(), answer.size()) < 0) _exit(2);
    _exit(0);
  }
  close(ends[1]);
  std::string answer;
  char part[512];
  for (ssize_t got = 0; (got = read(ends[0], part, sizeof part)) > 0;) {
    answer.append(part, static_cast<std::size_t>(got));
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  if (!answer.starts_with('.')) {
    ADD_FAILURE() << (answer.empty() ? "it crashed" : answer);
    return answer;
  }
  return answer.substr(1);
}

}  // namespace tessera::test
