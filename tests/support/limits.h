// The limits for an untrusted file, and for a text that it encodes.
#pragma once

#include <cstddef>
#include <ctime>

// Defined by the address sanitizer if it is linked: its objects may be from a build without it.
extern "C" [[gnu::weak]] void __asan_init();

namespace tessera::test {

/// Memory for each byte of a JSON file.
inline constexpr std::size_t kMostBytesPerJsonByte = 40;
/// Processor time in seconds, and memory in bytes beyond the file's own size.
inline constexpr double kMostSeconds = 1;
inline constexpr std::ptrdiff_t kMostBytes = std::ptrdiff_t{32} << 20;
/// The same, in addition, for each byte of a text encoded with a tokenizer's file: as normalised,
/// or for each token if there are more.
inline constexpr double kMostSecondsPerByte = 1e-6;
inline constexpr std::ptrdiff_t kMostBytesPerByte = 64;

/// Whether the address sanitizer is linked.
inline bool is_sanitized() {
  return __asan_init != nullptr;
}

/// The processor time of this process.
inline double processor_seconds() {
  timespec time{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &time);
  return static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec);
}

}  // namespace tessera::test
