// The memory of tensors: aligned, shared, recycled.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <new>
#include <optional>
#include <string>
#include <utility>

#include "tessera/tensor/kernels/types.h"

namespace tessera {

/// Thrown if the system has no memory for a tensor; the message names the tensor and the bytes that
/// it needs.
class OutOfMemory : public std::bad_alloc {
 public:
  explicit OutOfMemory(std::string text) : text_(std::move(text)) {}
  const char* what() const noexcept override { return text_.c_str(); }

 private:
  std::string text_;
};

/// The bytes of the machine's memory and swap space; a request for more bytes is an error.
index_t machine_memory();

/// A reference-counted handle on one block of memory. Allocated blocks are aligned to 64 bytes (a
/// cache line, and the widest vector). Freed blocks wait in a free list of their size class and
/// serve later requests, because the page faults of a fresh block of 100 MB take longer than a
/// softmax over the block.
///
/// Every writer adds 1 to the block's version. Code that keeps data computed from the contents
/// (packed weights) also keeps the version, to detect later writes.
///
/// The memory of a borrowed block is not from the allocator: for example, it is a mapped file.
///
/// Handles may be copied and destroyed on any thread. The contents are not initialised.
class Storage {
 public:
  Storage() = default;
  /// Room for `bytes` bytes, contents undefined. **Errors**: std::bad_alloc.
  static Storage allocate(index_t bytes);
  /// The `bytes` bytes at `data`, which must be writable and aligned to the elements. The owner
  /// `data` is kept until the last handle is destroyed. **Errors**: null `data`; negative `bytes`;
  /// std::bad_alloc.
  static Storage borrow(std::shared_ptr<void> data, index_t bytes);

  Storage(const Storage& other) noexcept;
  Storage(Storage&& other) noexcept;
  Storage& operator=(Storage other) noexcept;
  ~Storage();

  /// The first byte. **Errors**: no block, as in a default handle and so in an undefined tensor.
  std::byte* data() const;
  /// The bytes from data() on, at least as many as were requested. **Errors**: no block.
  index_t size() const;
  /// The version of the contents. A reused block never has an earlier version again. **Errors**: no
  /// block.
  std::uint64_t version() const;
  /// Adds 1 to the version: every writer calls it. **Errors**: no block.
  void bump_version() const;

  /// Whether this is the only handle on its block, so that a write has no other reader.
  bool is_unique() const;

  // A new parameter is unnamed until a call of `visit` names it (nn/visit.h). An op that a tape
  // records rejects an unnamed parameter (autograd/recording.h), because nothing would train it.

  /// Marks the contents as the parameter `name`, unless a module has named them. **Errors**: no block.
  void mark_unnamed(const std::string& name) const;
  /// Marks the contents as named. **Errors**: no block.
  void mark_named() const;
  /// The name of the parameter, if no module has named it.
  std::optional<std::string> unnamed_parameter() const;

  /// Whether there is a block.
  explicit operator bool() const { return block_ != nullptr; }
  /// Whether two handles share one block.
  bool operator==(const Storage& other) const { return block_ == other.block_; }

  struct Block;

 private:
  explicit Storage(Block* block) : block_(block) {}
  Block& block() const;
  Block* block_ = nullptr;
};

/// The memory of the allocator, in bytes: blocks in use by tensors, and blocks waiting to be
/// reused.
struct MemoryStats {
  index_t in_use = 0;
  index_t cached = 0;
  index_t system_allocations = 0;  // requests that no free block could serve
  index_t peak = 0;                // the largest `in_use` so far
  index_t borrowed = 0;            // in borrowed blocks; not counted in the other numbers
};

/// The memory of the allocator now, and its counts since the program started.
MemoryStats memory_stats();

/// Gives the waiting blocks back to the operating system.
void release_cached_memory();

}  // namespace tessera
