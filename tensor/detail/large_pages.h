// Memory in large pages, for large arrays that are soon written to: page faults of small pages take
// longer than the writes. Private to the library.
#pragma once

#include <cstddef>
#include <cstdlib>
#include <memory>

namespace tessera::detail {

template <class T>
using LargePages = std::unique_ptr<T[], decltype(&std::free)>;

/// `bytes` bytes, undefined. **Errors**: std::bad_alloc.
void* allocate_large_pages(std::size_t bytes);

/// Room for `count` objects that need no constructor.
template <class T>
LargePages<T> large_pages(std::size_t count) {
  return {static_cast<T*>(allocate_large_pages(count * sizeof(T))), &std::free};
}

}  // namespace tessera::detail
