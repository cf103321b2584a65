// How a JSON document is kept: its own text, and where the values stand in it.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/io/json.h"

namespace tessera {

/// A value or a key, at the byte with which it begins; that byte tells its kind. They stand in the
/// order of the file: a list is followed by its values, an object by a key, its value, the next
/// key, ... A hostile file is all short values, so a node is small.
struct Json::Node {
  std::uint32_t begin : 31;
  std::uint32_t keyed : 1;  // the node before is its key
  std::uint32_t size = 0;   // of a text or number, in bytes; of a list or an object: the node after

  Node(std::size_t at, bool has_key)
      : begin(static_cast<std::uint32_t>(at) & 0x7fffffff), keyed(has_key ? 1 : 0) {}
};

struct Json::Document {
  std::string file;
  std::string bytes;  // escapes in texts are resolved, where they stand
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
