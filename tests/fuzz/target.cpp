#include "tests/fuzz/target.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <stdexcept>
#include <system_error>

#include "tessera/tensor/error.h"
#include "tests/support/limits.h"

// A linked sanitizer calls these hooks at each malloc and free.
extern "C" {
[[gnu::weak]] int __sanitizer_install_malloc_and_free_hooks(void (*on_malloc)(const volatile void*,
                                                                              std::size_t),
                                                            void (*on_free)(const volatile void*));
[[gnu::weak]] std::size_t __sanitizer_get_allocated_size(const volatile void* memory);
}

namespace tessera::test {

namespace {

std::atomic<std::ptrdiff_t> held{0};  // bytes of memory now, and the largest number so far
std::atomic<std::ptrdiff_t> peak{0};

void on_malloc(const volatile void*, std::size_t bytes) {
  const std::ptrdiff_t now = held += static_cast<std::ptrdiff_t>(bytes);
  std::ptrdiff_t most = peak;
  while (now > most && !peak.compare_exchange_weak(most, now)) {
  }
}

void on_free(const volatile void* memory) {
  if (memory != nullptr) {
    held -= static_cast<std::ptrdiff_t>(__sanitizer_get_allocated_size(memory));
  }
}

bool is_one_line(std::string_view text) {
  return !text.empty() && std::none_of(text.begin(), text.end(), [](char c) {
    const auto code = static_cast<unsigned char>(c);
    return code < 0x20 || code == 0x7f;
  });
}

/// The folder, removed with the process.
struct Folder {
  std::filesystem::path path;

  Folder() {
    const std::filesystem::path memory = "/dev/shm";
    std::error_code none;
    const bool in_memory = std::filesystem::is_directory(memory, none);
    path = (in_memory ? memory : std::filesystem::temp_directory_path()) /
           str_cat("tessera-fuzz-", ::getpid());
    std::filesystem::create_directories(path);
  }
  ~Folder() {
    std::error_code ignored;
    std::filesystem::remove_all(path, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;
};

std::string error_of(void (*target)(std::string_view), std::string_view bytes) {
  try {
    target(bytes);
  } catch (const std::runtime_error& refused) {
    if (!is_one_line(refused.what())) return str_cat("no printable line: ", refused.what());
  } catch (const std::exception& error) {
    return error.what();
  }
  return {};
}

}  // namespace

const std::filesystem::path& fuzz_folder() {
  static const Folder folder;
  return folder.path;
}

std::filesystem::path fuzz_file(const std::string& name, std::string_view bytes) {
  const std::filesystem::path path = fuzz_folder() / name;
  const int file = ::open(path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  const bool written =
      file >= 0 && ::write(file, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  ::close(file);
  expect(written, "cannot write the input's file");
  return path;
}

void expect(bool condition, const char* broken) {
  if (!condition) throw std::logic_error(broken);
}

std::pair<std::string_view, std::string_view> split_at_zero(std::string_view bytes) {
  const std::size_t zero = std::min(bytes.find('\0'), bytes.size());
  return {bytes.substr(0, zero), bytes.substr(std::min(zero + 1, bytes.size()))};
}

bool counts_memory() {
  static const bool installed = __sanitizer_install_malloc_and_free_hooks != nullptr &&
                                __sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) != 0;
  return installed;
}

std::string finding(void (*target)(std::string_view), std::string_view bytes) {
  const bool counted = counts_memory();
  const double begin = processor_seconds();
  const std::ptrdiff_t before = held;
  peak = before;
  const std::string error = error_of(target, bytes);
  const double seconds = processor_seconds() - begin;
  const std::ptrdiff_t memory = peak - before;
  if (!error.empty()) return error;
  const double slower = is_sanitized() ? 5 : 1;
  if (seconds > slower * kMostSeconds) return str_cat("it took ", seconds, " seconds");
  if (counted && memory > kMostBytes + std::ssize(bytes))
    return str_cat("it took ", memory, " bytes of memory");
  return {};
}

}  // namespace tessera::test
