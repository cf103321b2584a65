#include "models/text/pipeline/trie.h"

#include <algorithm>
#include <array>

#include "tensor/error.h"

namespace tessera::text {

namespace {

constexpr std::size_t kBytes = 256;
/// Places that are tried for a node's children before they go behind all others: so building takes
/// linear time, whatever the keys. Single children, which most are, fit any place.
constexpr int kMostTries = 32;

}  // namespace

/// Finds places for the children of one node after another. Free places form a ring, through `next`
/// and `before`; place 0, which is the root's, is where it begins.
class Trie::Builder {
 public:
  explicit Builder(std::vector<Slot>& slots) : slots_(slots) { grow(1); }

  void build(std::span<const Entry> entries) {
    struct Branch {
      Node node;
      std::size_t begin, end;  // the keys below it
      std::size_t depth;
    };
    std::vector<Branch> branches = {{kRoot, 0, entries.size(), 0}};
    while (!branches.empty()) {
      Branch branch = branches.back();
      branches.pop_back();
      while (branch.begin < branch.end && entries[branch.begin].key.size() == branch.depth) {
        slots_[branch.node].value = static_cast<std::int32_t>(entries[branch.begin++].value);
      }
      std::size_t count = 0;
      for (std::size_t i = branch.begin; i < branch.end; ++count) {
        labels_[count] = static_cast<unsigned char>(entries[i].key[branch.depth]);
        begins_[count] = i;
        while (i < branch.end && byte_of(entries[i], branch.depth) == labels_[count]) ++i;
      }
      if (count == 0) continue;
      begins_[count] = branch.end;
      const Node base = place(std::span(labels_).first(count));
      slots_[branch.node].base = base;
      for (std::size_t i = 0; i < count; ++i) {
        const Node child = base + labels_[i];
        take(child, branch.node);
        branches.push_back({child, begins_[i], begins_[i + 1], branch.depth + 1});
      }
    }
  }

 private:
  static unsigned char byte_of(const Entry& entry, std::size_t depth) {
    return static_cast<unsigned char>(entry.key[depth]);
  }
  bool is_free(Node node) const { return node != kRoot && slots_[node].parent == kNone; }

  void grow(std::size_t size) {
    const auto old = static_cast<Node>(slots_.size());
    if (size + kBytes <= old) return;
    slots_.resize(std::max(size + kBytes, slots_.size() * 3 / 2));
    next_.resize(slots_.size());
    before_.resize(slots_.size());
    for (Node i = old; i < slots_.size(); ++i) {
      if (i == kRoot) continue;  // a ring of one
      before_[i] = before_[kRoot];
      next_[i] = kRoot;
      next_[before_[i]] = i;
      before_[kRoot] = i;
    }
  }

  void take(Node node, Node parent) {
    slots_[node].parent = parent;
    next_[before_[node]] = next_[node];
    before_[next_[node]] = before_[node];
    end_ = std::max(end_, node + 1);
  }

  /// A base from which all of these children stand on free places.
  Node place(std::span<const unsigned char> labels) {
    int tries = 0;
    for (Node first = next_[kRoot]; first != kRoot && tries < kMostTries; first = next_[first]) {
      if (first < labels[0]) continue;  // there are at most 255 such places
      const Node base = first - labels[0];
      grow(base + kBytes);
      const bool fits = std::all_of(labels.begin(), labels.end(),
                                    [&](unsigned char label) { return is_free(base + label); });
      if (fits) return base;
      ++tries;
    }
    grow(end_ + kBytes);
    return end_;
  }

  std::vector<Slot>& slots_;
  std::vector<Node> next_, before_;
  std::array<unsigned char, kBytes> labels_{};
  std::array<std::size_t, kBytes + 1> begins_{};
  Node end_ = 1;  // after the last place that is taken
};

Trie::Trie(std::vector<Entry> entries) {
  std::size_t bytes = 0;
  for (const Entry& entry : entries) bytes += entry.key.size();
  require(bytes < std::size_t{1} << 31, "Trie", bytes, " bytes of keys are too many");
  std::stable_sort(entries.begin(), entries.end(),
                   [](const Entry& a, const Entry& b) { return a.key < b.key; });
  Builder(nodes_).build(entries);
}

}  // namespace tessera::text
