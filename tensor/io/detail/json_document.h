// The memory of a JSON document: its text, and the positions of the values in the text.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/io/json.h"

namespace tessera {

/// A value or a key, at its first byte, which determines its kind. Nodes are in the order of the
/// file: a list is followed by its values, an object by a key, its value, the next key, ... Nodes
/// are small, because an untrusted file may consist of short values only.
struct Json::Node {
  std::uint32_t begin : 31;
  std::uint32_t keyed : 1;  // the node before is its key
  std::uint32_t size = 0;   // of a text or number: in bytes; of a list or an object: the next node

  Node(std::size_t at, bool has_key)
      : begin(static_cast<std::uint32_t>(at) & 0x7fffffff), keyed(has_key ? 1 : 0) {}
};

struct Json::Document {
  std::string file;
  std::string bytes;  // escapes in texts are resolved in place
  std::vector<Node> nodes;

  char first(std::uint32_t node) const { return bytes[nodes[node].begin]; }
  bool nests(std::uint32_t node) const { return first(node) == '[' || first(node) == '{'; }
  std::string_view text(std::uint32_t node) const {
    return std::string_view(bytes).substr(nodes[node].begin + 1, nodes[node].size);
  }
  std::uint32_t after(std::uint32_t node) const {
    return nests(node) ? nodes[node].size : node + 1;
  }
};

}  // namespace tessera
