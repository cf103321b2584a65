#include "models/text/detail/word_cache.h"

#include <algorithm>

namespace tessera::text {

void WordCache::put(Slot& slot, std::uint64_t hash, std::string_view word,
                    std::span<const Piece> pieces) {
  if (pieces.size() > kMostTokens) return;
  State expected = kEmpty;
  // If another thread is faster, its word is kept.
  if (!slot.state.compare_exchange_strong(expected, kBeingWritten)) return;
  slot.size = static_cast<std::uint8_t>(word.size());
  slot.count = static_cast<std::uint8_t>(pieces.size());
  slot.hash = static_cast<std::uint32_t>(hash);
  std::copy(word.begin(), word.end(), slot.word.begin());
  for (std::size_t i = 0; i < pieces.size(); ++i) {
    slot.ids[i] = static_cast<std::uint32_t>(pieces[i].id);
    slot.begins[i] = static_cast<std::uint8_t>(pieces[i].bytes.begin);
    slot.ends[i] = static_cast<std::uint8_t>(pieces[i].bytes.end);
  }
  slot.state.store(kReady, std::memory_order_release);
}

}  // namespace tessera::text
