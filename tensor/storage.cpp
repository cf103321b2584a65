#include "tessera/tensor/storage.h"

#include <pthread.h>
#include <sys/sysinfo.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <map>
#include <mutex>
#include <new>
#include <span>
#include <utility>

#include "tessera/tensor/error.h"

namespace tessera {

namespace {

constexpr std::size_t kAlignment = 64;

// AddressSanitizer detects overruns only if blocks have their exact size and are really freed.
#if defined(__SANITIZE_ADDRESS__)
constexpr bool kRecycle = false;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
constexpr bool kRecycle = false;
#else
constexpr bool kRecycle = true;
#endif
#else
constexpr bool kRecycle = true;
#endif

}  // namespace

/// Whether the contents are a parameter that a module has named: a named one stays named.
enum class Naming : std::uint8_t { kNone, kUnnamed, kNamed };

/// A block of the pool is this header, one alignment unit long, followed by the elements.
struct alignas(kAlignment) Storage::Block {
  std::atomic<index_t> references{1};
  std::atomic<std::uint64_t> version{0};
  std::byte* data = nullptr;
  std::size_t bytes = 0;       // of the whole block, header included
  std::size_t size_class = 0;  // the free list that it returns to
  Block* next = nullptr;       // in the free list
  bool is_borrowed = false;
  std::atomic<Naming> naming{Naming::kNone};
};

namespace {

using Block = Storage::Block;
static_assert(sizeof(Block) == kAlignment);

/// Versions never repeat at an address, although it may serve several blocks.
std::uint64_t first_version() {
  static std::atomic<std::uint64_t> blocks = 0;
  return ++blocks << 32;
}

/// A block whose memory has another owner.
struct BorrowedBlock : Block {
  BorrowedBlock(std::shared_ptr<void> memory, index_t size)
      : owner(std::move(memory)), count(size) {
    version.store(first_version(), std::memory_order_relaxed);
    data = static_cast<std::byte*>(owner.get());
    is_borrowed = true;
    total += count;
  }
  BorrowedBlock(const BorrowedBlock&) = delete;
  BorrowedBlock& operator=(const BorrowedBlock&) = delete;
  ~BorrowedBlock() { total -= count; }

  std::shared_ptr<void> owner;
  index_t count;
  static inline std::atomic<index_t> total = 0;  // of all such blocks
};

/// Four sizes per power of two, so at most a quarter of a block is wasted.
struct SizeClass {
  std::size_t index;
  std::size_t bytes;
};

SizeClass size_class_of(std::size_t bytes) {
  const std::size_t units = std::max<std::size_t>((bytes + kAlignment - 1) / kAlignment, 4);
  const auto log2 = static_cast<std::size_t>(std::bit_width(units - 1)) - 1;  // units > 2^log2
  const std::size_t step = std::size_t{1} << (log2 >= 2 ? log2 - 2 : 0);
  const std::size_t rounded = (units + step - 1) / step * step;
  const std::size_t quarter = (rounded - (std::size_t{1} << log2)) / step;  // 1..4
  return {log2 * 4 + quarter, rounded * kAlignment};
}

class Pool {
 public:
  Block* take(std::size_t bytes) {
    const SizeClass wanted = kRecycle ? size_class_of(bytes) : SizeClass{0, bytes};
    const std::lock_guard lock(mutex_);
    Block* block = take_waiting(wanted);
    if (block != nullptr) {
      cached_ -= block->bytes;
      block->references.store(1, std::memory_order_relaxed);
    } else {
      make_room(wanted.bytes);
      block = new (request(wanted.bytes)) Block;
      block->data = reinterpret_cast<std::byte*>(block) + sizeof(Block);
      block->bytes = wanted.bytes;
      block->size_class = wanted.index;
      block->version.store(first_version(), std::memory_order_relaxed);
      ++system_allocations_;
    }
    in_use_ += block->bytes;
    peak_ = std::max(peak_, in_use_);
    return block;
  }

  void give_back(Block* block) {
    const std::lock_guard lock(mutex_);
    in_use_ -= block->bytes;
    if (!kRecycle) return free_block(block);
    make_room(block->bytes);
    // The next owner starts at a version that no reader has seen.
    block->version.fetch_add(1, std::memory_order_relaxed);
    block->next = std::exchange(free_[block->size_class], block);
    cached_ += block->bytes;
  }

  std::mutex& mutex() { return mutex_; }

  void release_cached() {
    const std::lock_guard lock(mutex_);
    free_all();
  }

  MemoryStats stats() {
    const std::lock_guard lock(mutex_);
    return {static_cast<index_t>(in_use_), static_cast<index_t>(cached_), system_allocations_,
            static_cast<index_t>(peak_), BorrowedBlock::total.load()};
  }

 private:
  /// A waiting block of this class, or of one less than twice as large. Small blocks come only from
  /// their own class: otherwise they would fill the lists of large ones, and they hold little
  /// memory.
  Block* take_waiting(SizeClass wanted) {
    constexpr std::size_t kLarge = std::size_t{1} << 16;
    constexpr std::size_t kClassesPerTwo = 4;
    const std::size_t more = kRecycle && wanted.bytes >= kLarge ? kClassesPerTwo - 1 : 0;
    for (Block*& head : std::span(free_).subspan(wanted.index, more + 1)) {
      if (head != nullptr) return std::exchange(head, head->next);
    }
    return nullptr;
  }

  /// Keeps the memory of the process below twice the peak of tensors, including the new `bytes`. To
  /// make room, the waiting blocks are freed; the new block is of a size in demand.
  void make_room(std::size_t bytes) {
    const std::size_t most = std::max(peak_, in_use_ + bytes);
    if (in_use_ + cached_ + bytes > 2 * most) free_all();
  }

  /// Allocates fresh memory; if the system has none left, frees the waiting blocks first.
  void* request(std::size_t bytes) {
    constexpr std::align_val_t kAlign{kAlignment};
    if (void* memory = ::operator new(bytes, kAlign, std::nothrow)) return memory;
    free_all();
    return ::operator new(bytes, kAlign);
  }

  void free_all() {
    for (Block*& head : free_) {
      while (head != nullptr) free_block(std::exchange(head, head->next));
    }
    cached_ = 0;
  }

  static void free_block(Block* block) {
    block->~Block();
    ::operator delete (block, std::align_val_t{kAlignment});
  }

  std::mutex mutex_;
  std::array<Block*, 64 * 4 + 1> free_{};
  std::size_t in_use_ = 0;
  std::size_t cached_ = 0;
  std::size_t peak_ = 0;
  index_t system_allocations_ = 0;
};

/// The names of unnamed parameters, by their blocks.
class UnnamedParameters {
 public:
  void add(Block& block, const std::string& name) {
    const std::lock_guard lock(mutex_);
    if (block.naming != Naming::kNone) return;
    names_[&block] = name;
    block.naming = Naming::kUnnamed;
  }

  void remove(Block& block, Naming after) {
    const std::lock_guard lock(mutex_);
    names_.erase(&block);
    block.naming = after;
  }

  std::mutex& mutex() { return mutex_; }

  std::optional<std::string> find(const Block& block) {
    const std::lock_guard lock(mutex_);
    const auto found = names_.find(&block);
    return found != names_.end() ? std::optional(found->second) : std::nullopt;
  }

 private:
  std::mutex mutex_;
  std::map<const Block*, std::string> names_;
};

/// Never destroyed: a static tensor may outlive every other static object.
UnnamedParameters& unnamed_parameters() {
  static UnnamedParameters& instance = *new UnnamedParameters;
  return instance;
}

/// Never destroyed either. Without the fork handlers, a child of fork() would wait for a thread
/// that does not exist there.
Pool& pool() {
  static Pool& instance = []() -> Pool& {
    const auto lock = [] {
      pool().mutex().lock();
      unnamed_parameters().mutex().lock();
    };
    const auto unlock = [] {
      unnamed_parameters().mutex().unlock();
      pool().mutex().unlock();
    };
    Pool& made = *new Pool;
    ::pthread_atfork(lock, unlock, unlock);
    return made;
  }();
  return instance;
}

}  // namespace

index_t machine_memory() {
  static const index_t bytes = [] {
    struct sysinfo info = {};
    if (sysinfo(&info) != 0) return index_t{1} << 62;
    return static_cast<index_t>((std::uint64_t{info.totalram} + info.totalswap) * info.mem_unit);
  }();
  return bytes;
}

Storage Storage::allocate(index_t bytes) {
  if (bytes < 0 || bytes > machine_memory()) throw std::bad_alloc();
  return Storage(pool().take(static_cast<std::size_t>(bytes) + sizeof(Block)));
}

Storage Storage::borrow(std::shared_ptr<void> data, index_t bytes) {
  require(data != nullptr && bytes >= 0, "storage",
          "borrowed memory must not be null and bytes must be at least 0, got ", data.get(),
          " and ", bytes);
  return Storage(new BorrowedBlock(std::move(data), bytes));
}

Storage::Storage(const Storage& other) noexcept : block_(other.block_) {
  if (block_ != nullptr) block_->references.fetch_add(1, std::memory_order_relaxed);
}

Storage::Storage(Storage&& other) noexcept : block_(std::exchange(other.block_, nullptr)) {}

Storage& Storage::operator=(Storage other) noexcept {
  std::swap(block_, other.block_);
  return *this;
}

Storage::~Storage() {
  if (block_ == nullptr) return;
  if (block_->references.fetch_sub(1, std::memory_order_acq_rel) != 1) return;
  if (block_->naming != Naming::kNone) unnamed_parameters().remove(*block_, Naming::kNone);
  if (block_->is_borrowed) {
    delete static_cast<BorrowedBlock*>(block_);
  } else {
    pool().give_back(block_);
  }
}

index_t Storage::size() const {
  const Block& of = block();
  return of.is_borrowed ? static_cast<const BorrowedBlock&>(of).count
                        : static_cast<index_t>(of.bytes - sizeof(Block));
}

Storage::Block& Storage::block() const {
  require(block_ != nullptr, "storage", "tensor must be defined, got an undefined one");
  return *block_;
}

std::byte* Storage::data() const {
  return block().data;
}

std::uint64_t Storage::version() const {
  return block().version.load(std::memory_order_acquire);
}

void Storage::bump_version() const {
  block().version.fetch_add(1, std::memory_order_acq_rel);
}

bool Storage::is_unique() const {
  return block_ != nullptr && block_->references.load(std::memory_order_acquire) == 1;
}

void Storage::mark_unnamed(const std::string& name) const {
  unnamed_parameters().add(block(), name);
}

void Storage::mark_named() const {
  if (block().naming != Naming::kNamed) unnamed_parameters().remove(*block_, Naming::kNamed);
}

std::optional<std::string> Storage::unnamed_parameter() const {
  if (block_ == nullptr || block_->naming != Naming::kUnnamed) return std::nullopt;
  return unnamed_parameters().find(*block_);
}

MemoryStats memory_stats() {
  return pool().stats();
}

void release_cached_memory() {
  pool().release_cached();
}

}  // namespace tessera
