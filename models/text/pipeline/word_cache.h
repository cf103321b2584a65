// Remembers the tokens of words that come again and again.
#pragma once

#include <array>
#include <atomic>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/tokenizer.h"

namespace tessera::text {

/// The tokens of the first few ten thousand different words that were asked for. Common words are
/// among them, because they come early. Safe from several threads, none of which ever waits: what has
/// been written stays as it is until the end.
class WordCache {
 public:
  WordCache() : slots_(std::make_unique<std::array<Slot, kSlots>>()) {}
  ~WordCache();
  WordCache(const WordCache&) = delete;
  WordCache& operator=(const WordCache&) = delete;

  /// Appends the tokens of `word`: those that are known, or what `tokenize(word, pieces)` appends.
  template <class Tokenize>
  void get(std::string_view word, std::vector<Piece>& pieces, const Tokenize& tokenize) const {
    if (word.size() > kMostBytes) return tokenize(word, pieces);
    const std::uint64_t hash = hash_of(word);
    Slot* free = nullptr;
    for (std::size_t i = 0; i < kProbes; ++i) {
      Slot& slot = (*slots_)[(hash + i) % kSlots];
      const Entry* const entry = slot.load(std::memory_order_acquire);
      if (entry == nullptr) {
        free = &slot;
        break;
      }
      if (entry->hash == hash && entry->word == word) {
        pieces.insert(pieces.end(), entry->pieces.begin(), entry->pieces.end());
        return;
      }
    }
    const std::size_t before = pieces.size();
    tokenize(word, pieces);
    if (free != nullptr) put(*free, hash, word, std::span(pieces).subspan(before));
  }

 private:
  static constexpr std::size_t kSlots = 1 << 16;
  static constexpr std::size_t kProbes = 4;
  static constexpr std::size_t kMostBytes = 48;

  struct Entry {
    std::uint64_t hash;
    std::string word;
    std::vector<Piece> pieces;
  };
  using Slot = std::atomic<const Entry*>;

  static std::uint64_t hash_of(std::string_view word);
  static void put(Slot& slot, std::uint64_t hash, std::string_view word,
                  std::span<const Piece> pieces);

  std::unique_ptr<std::array<Slot, kSlots>> slots_;
};

}  // namespace tessera::text
