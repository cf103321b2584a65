#include "tessera/models/text/detail/trie.h"

#include <algorithm>
#include <array>
#include <span>

#include "tessera/tensor/error.h"

namespace tessera::text {

namespace {

constexpr std::size_t kBytes = 256;
/// The number of slots that are tried for a node's children before they are placed at the end, so
/// that building takes linear time for any keys. Single children, which are the most frequent, fit
/// any slot.
constexpr int kMostTries = 32;

/// The maximum number of slots for this number of tokens, including free ones. A million tokens of
/// XLM-V need three million.
std::size_t most_nodes(std::size_t tokens) {
  return (std::size_t{1} << 20) + 4 * tokens;
}

}  // namespace

/// A token for sorting: its first bytes nearly always decide.
struct Trie::Entry {
  std::uint64_t first;
  Node id;

  static Entry of(std::string_view token, index_t id) {
    std::uint64_t first = 0;
    for (std::size_t i = 0; i < sizeof first; ++i) {
      first = first << 8 | (i < token.size() ? static_cast<unsigned char>(token[i]) : 0u);
    }
    return {first, static_cast<Node>(id)};
  }
};

/// Finds slots for the children of one node after another. Free slots form a ring, with the next
/// one in `base` and the previous one in `value`; it begins at slot 0, the root's.
class Trie::Builder {
 public:
  Builder(std::vector<Slot>& slots, const TokenList& tokens) : slots_(slots), tokens_(tokens) {}

  void build(std::vector<Entry> entries) {
    struct Branch {
      Node node;
      std::size_t begin, end;  // the tokens below it
      std::size_t depth;
    };
    std::size_t bytes = 0;
    for (const Entry& entry : entries) bytes += text_of(entry).size();
    slots_.reserve(std::min(most_nodes(entries.size()), bytes + bytes / 8) + 3 * kBytes);
    grow(1);
    std::vector<Branch> branches = {{kRoot, 0, entries.size(), 0}};
    while (!branches.empty()) {
      Branch branch = branches.back();
      branches.pop_back();
      while (branch.begin < branch.end && text_of(entries[branch.begin]).size() == branch.depth) {
        slots_[branch.node].value = static_cast<std::int32_t>(entries[branch.begin++].id);
      }
      std::size_t count = 0;
      for (std::size_t i = branch.begin; i < branch.end; ++count) {
        labels_[count] = byte_of(entries[i], branch.depth);
        begins_[count] = i;
        while (i < branch.end && byte_of(entries[i], branch.depth) == labels_[count]) ++i;
      }
      if (count == 0) continue;
      begins_[count] = branch.end;
      const Node base = place(std::span(labels_).first(count), entries.size());
      slots_[branch.node].base = base;
      for (std::size_t i = 0; i < count; ++i) {
        const Node child = base + labels_[i];
        take(child, branch.node);
        branches.push_back({child, begins_[i], begins_[i + 1], branch.depth + 1});
      }
    }
  }

 private:
  std::string_view text_of(const Entry& entry) const { return tokens_[entry.id]; }
  unsigned char byte_of(const Entry& entry, std::size_t depth) const {
    return static_cast<unsigned char>(text_of(entry)[depth]);
  }
  bool is_free(Node node) const { return node != kRoot && slots_[node].parent == kNone; }
  Node next_of(Node node) const { return node == kRoot ? first_ : slots_[node].base; }
  void link(Node before, Node next) {
    (before == kRoot ? first_ : slots_[before].base) = next;
    if (next == kRoot) {
      last_ = before;
    } else {
      slots_[next].value = static_cast<std::int32_t>(before);
    }
  }

  void grow(std::size_t size) {
    const std::size_t old = slots_.size();
    if (size + kBytes <= old) return;
    slots_.resize(size + 2 * kBytes);
    for (std::size_t i = std::max<std::size_t>(old, 1); i < slots_.size(); ++i) {
      link(last_, static_cast<Node>(i));
      link(static_cast<Node>(i), kRoot);
    }
  }

  void take(Node node, Node parent) {
    link(static_cast<Node>(slots_[node].value), slots_[node].base);
    slots_[node] = {0, parent, kNoValue};
    end_ = std::max(end_, node + 1);
  }

  /// A base with which all of these children have free slots.
  Node place(std::span<const unsigned char> labels, std::size_t tokens) {
    int tries = 0;
    for (Node first = next_of(kRoot); first != kRoot && tries < kMostTries;
         first = next_of(first)) {
      if (first < labels[0]) continue;  // there are at most 255 such slots
      const Node base = first - labels[0];
      grow(base + kBytes);
      const bool fits = std::all_of(labels.begin(), labels.end(),
                                    [&](unsigned char label) { return is_free(base + label); });
      if (fits) return checked(base, tokens);
      ++tries;
    }
    grow(end_ + kBytes);
    return checked(end_, tokens);
  }
  static Node checked(Node base, std::size_t tokens) {
    require(base <= most_nodes(tokens), "Trie", tokens, " tokens must have at most ",
            most_nodes(tokens), " different beginnings, got more");
    return base;
  }

  std::vector<Slot>& slots_;
  const TokenList& tokens_;
  Node first_ = kRoot;  // of the free slots
  Node last_ = kRoot;
  std::array<unsigned char, kBytes> labels_{};
  std::array<std::size_t, kBytes + 1> begins_{};
  Node end_ = 1;  // after the last used slot
};

Trie::Trie(const TokenList& tokens) {
  std::vector<Entry> entries;
  entries.reserve(static_cast<std::size_t>(tokens.used()));
  for (index_t id = 0; id < tokens.size(); ++id) {
    if (!tokens[id].empty()) entries.push_back(Entry::of(tokens[id], id));
  }
  std::sort(entries.begin(), entries.end(), [&](const Entry& a, const Entry& b) {
    if (a.first != b.first) return a.first < b.first;
    const int order = tokens[a.id].compare(tokens[b.id]);
    return order != 0 ? order < 0 : a.id < b.id;
  });
  Builder(nodes_, tokens).build(std::move(entries));
}

}  // namespace tessera::text
