// A set of strings with a number each, searched byte by byte.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>
#include <vector>

#include "tessera/models/text/vocabulary.h"

namespace tessera::text {

/// Strings and their numbers as a double array: the child of node n by byte c is node base[n] + c,
/// if the parent of that node is n. So a step reads one node, for any number of strings. A node
/// takes 12 bytes; words of a language have about three nodes each.
///
/// **Source**: Aoe, "An efficient digital search algorithm by using a double-array structure",
/// 1989.
class Trie {
 public:
  using Node = std::uint32_t;
  static constexpr Node kRoot = 0;
  static constexpr Node kNone = 0xffffffff;
  static constexpr index_t kNoValue = -1;

  struct Match {
    std::size_t size = 0;  // in bytes
    index_t value = kNoValue;
    std::size_t steps = 0;  // number of bytes read
  };

  /// The tokens and their numbers; empty ones are omitted. Of equal tokens the last one is used.
  /// **Errors**: std::invalid_argument: tokens that have far more different beginnings than those
  /// of a language.
  explicit Trie(const TokenList& tokens);

  /// The child by a byte, kNone if there is none.
  Node step(Node node, char byte) const {
    const Node child = nodes_[node].base + static_cast<unsigned char>(byte);
    return nodes_[child].parent == node ? child : kNone;
  }
  Node walk(Node node, std::string_view bytes) const {
    for (std::size_t i = 0; i < bytes.size() && node != kNone; ++i) node = step(node, bytes[i]);
    return node;
  }
  /// The number of the string that ends in a node; nullopt if none does, or for kNone.
  std::optional<index_t> value(Node node) const {
    if (node == kNone || nodes_[node].value == kNoValue) return std::nullopt;
    return nodes_[node].value;
  }
  std::optional<index_t> find(std::string_view key) const { return value(walk(kRoot, key)); }

  /// The longest string, not empty, that continues from `node` with the beginning of `text`.
  Match longest(Node node, std::string_view text) const {
    Match match;
    match.steps = each_prefix(node, text, [&](std::size_t size, index_t number) {
      match.size = size;
      match.value = number;
    });
    return match;
  }

  /// Walks from `node` along `text`. Calls use(bytes, value) at each node in which a string ends,
  /// the shortest first; `bytes` counts from the start of `text`. Returns the number of bytes read.
  template <class Use>
  std::size_t each_prefix(Node node, std::string_view text, const Use& use) const {
    std::size_t at = 0;
    while (at < text.size()) {
      node = step(node, text[at++]);
      if (node == kNone) break;
      if (nodes_[node].value != kNoValue) use(at, index_t{nodes_[node].value});
    }
    return at;
  }

 private:
  struct Slot {
    Node base = 0;
    Node parent = kNone;
    std::int32_t value = kNoValue;
  };
  struct Entry;
  class Builder;

  std::vector<Slot> nodes_;  // with room for base + 255 of each
};

}  // namespace tessera::text
