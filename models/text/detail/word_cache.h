// A cache for the tokens of frequent words.
#pragma once

#include <algorithm>
#include <array>
#include <atomic>
#include <cstdint>
#include <cstring>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

#include "tessera/models/text/tokenizer.h"

namespace tessera::text {

/// The tokens of the first few ten thousand different words that were requested. Common words are
/// among them, because they come early. May be used by several threads, which never wait: an entry
/// does not change after it was written.
class WordCache {
 public:
  WordCache() : slots_(std::make_unique<std::array<Slot, kSlots>>()) {}

  /// Whether a word is short enough for the cache.
  static bool may_know(std::string_view word) { return word.size() <= kMostBytes; }
  /// Appends the tokens of `word`: the cached ones, or those appended by `tokenize(word, pieces)`.
  template <class Tokenize>
  void get(std::string_view word, std::vector<Piece>& pieces, const Tokenize& tokenize) const {
    if (!may_know(word)) return tokenize(word, pieces);
    const std::uint64_t hash = hash_of(word);
    Slot* free = nullptr;
    for (std::size_t i = 0; i < kProbes; ++i) {
      Slot& slot = (*slots_)[((hash >> 32) + i) % kSlots];
      if (slot.state.load(std::memory_order_acquire) != kReady) {
        free = &slot;
        break;
      }
      if (slot.hash == static_cast<std::uint32_t>(hash) && slot.bytes() == word) {
        for (std::size_t token = 0; token < slot.count; ++token) {
          pieces.push_back({slot.ids[token], {slot.begins[token], slot.ends[token]}});
        }
        return;
      }
    }
    const std::size_t before = pieces.size();
    tokenize(word, pieces);
    if (free != nullptr) put(*free, hash, word, std::span(pieces).subspan(before));
  }

 private:
  static constexpr std::size_t kSlots = 1 << 15;
  static constexpr std::size_t kProbes = 4;
  static constexpr std::size_t kMostBytes = 26;
  static constexpr std::size_t kMostTokens = 5;

  enum State : std::uint8_t { kEmpty, kBeingWritten, kReady };
  /// One cache line, because a cache miss is most of the time of a lookup.
  struct alignas(64) Slot {
    std::atomic<State> state = kEmpty;
    std::uint8_t size = 0;
    std::uint8_t count = 0;
    std::array<char, kMostBytes> word{};
    std::array<std::uint8_t, kMostTokens> begins{};
    std::array<std::uint8_t, kMostTokens> ends{};
    std::uint32_t hash = 0;
    std::array<std::uint32_t, kMostTokens> ids{};

    std::string_view bytes() const { return {word.data(), size}; }
  };
  static_assert(sizeof(Slot) == 64);

  static std::uint64_t hash_of(std::string_view word) {
    constexpr std::uint64_t kFactor = 0x9e3779b97f4a7c15;
    std::uint64_t hash = word.size();
    for (; word.size() > 8; word.remove_prefix(8)) {
      std::uint64_t block = 0;
      std::memcpy(&block, word.data(), 8);
      hash = (hash ^ block) * kFactor;
      hash ^= hash >> 32;
    }
    std::uint64_t block = 0;
    for (const char c : word) block = block << 8 | static_cast<unsigned char>(c);
    hash = (hash ^ block) * kFactor;
    return hash ^ hash >> 29;
  }
  static void put(Slot& slot, std::uint64_t hash, std::string_view word,
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

  std::unique_ptr<std::array<Slot, kSlots>> slots_;
};

}  // namespace tessera::text
