#include "tensor/detail/large_pages.h"

#include <sys/mman.h>

#include <new>

namespace tessera {

void* detail::allocate_large_pages(std::size_t bytes) {
  constexpr std::size_t kPage = std::size_t{2} << 20;
  bytes = (bytes + kPage - 1) / kPage * kPage;
  void* const memory = std::aligned_alloc(kPage, bytes);
  if (memory == nullptr) throw std::bad_alloc();
  madvise(memory, bytes, MADV_HUGEPAGE);  // as a hint: it may fail
  return memory;
}

}  // namespace tessera
