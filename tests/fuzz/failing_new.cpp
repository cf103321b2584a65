// An operator new in which fail_allocation(n) makes the n-th allocation fail.
#include <cstdlib>
#include <new>

namespace tessera::test {

namespace {

thread_local long until_failure = 0;

void* allocated(std::size_t bytes, std::size_t alignment) noexcept {
  if (until_failure > 0 && --until_failure == 0) return nullptr;
  void* memory = nullptr;
  return ::posix_memalign(&memory, alignment, bytes > 0 ? bytes : 1) == 0 ? memory : nullptr;
}

void* allocated_or_throw(std::size_t bytes, std::size_t alignment) {
  void* const memory = allocated(bytes, alignment);
  if (memory == nullptr) throw std::bad_alloc();
  return memory;
}

}  // namespace

void fail_allocation(long n);
void fail_allocation(long n) {
  until_failure = n;
}

}  // namespace tessera::test

using tessera::test::allocated;
using tessera::test::allocated_or_throw;

void* operator new(std::size_t bytes) {
  return allocated_or_throw(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment) {
  return allocated_or_throw(bytes, static_cast<std::size_t>(alignment));
}
void* operator new(std::size_t bytes, const std::nothrow_t&) noexcept {
  return allocated(bytes, alignof(std::max_align_t));
}
void* operator new(std::size_t bytes, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  return allocated(bytes, static_cast<std::size_t>(alignment));
}
void operator delete(void* memory) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::align_val_t) noexcept {
  std::free(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  std::free(memory);
}
