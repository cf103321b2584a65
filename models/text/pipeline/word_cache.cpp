#include "models/text/pipeline/word_cache.h"

#include <cstring>

namespace tessera::text {

WordCache::~WordCache() {
  for (Slot& slot : *slots_) delete slot.load();
}

std::uint64_t WordCache::hash_of(std::string_view word) {
  constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;
  std::uint64_t hash = word.size();
  while (!word.empty()) {
    std::uint64_t block = 0;
    const std::size_t size = std::min(word.size(), sizeof(block));
    std::memcpy(&block, word.data(), size);
    hash = (hash ^ block) * kFactor;
    hash ^= hash >> 32;
    word.remove_prefix(size);
  }
  return hash;
}

void WordCache::put(Slot& slot, std::uint64_t hash, std::string_view word,
                    std::span<const Piece> pieces) {
  auto entry = std::make_unique<Entry>(
      Entry{hash, std::string(word), std::vector<Piece>(pieces.begin(), pieces.end())});
  const Entry* expected = nullptr;
  if (slot.compare_exchange_strong(expected, entry.get(), std::memory_order_acq_rel)) {
    entry.release();  // else another thread was faster; its word stays
  }
}

}  // namespace tessera::text
