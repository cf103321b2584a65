// Memory in large pages, for large arrays that are soon written to: page faults of small pages take
// longer than the writes. Private to the library.
#pragma once

#include <sys/mman.h>

#include <cstddef>
#include <cstdlib>
#include <memory>
#include <new>

namespace tessera::detail {

template <class T>
using LargePages = std::unique_ptr<T[], decltype(&std::free)>;

/// Room for `count` objects that need no constructor. **Errors**: std::bad_alloc.
template <class T>
LargePages<T> large_pages(std::size_t count) {
  constexpr std::size_t kPage = std::size_t{2} << 20;
  const std::size_t bytes = (count * sizeof(T) + kPage - 1) / kPage * kPage;
  void* const memory = std::aligned_alloc(kPage, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  madvise(memory, bytes, MADV_HUGEPAGE);  // as a hint: it may fail
  return {static_cast<T*>(memory), &std::free};
}

}  // namespace tessera::detail
