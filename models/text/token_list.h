// The tokens of a vocabulary, by number.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/kernels/types.h"

namespace tessera::text {

/// Texts by number; an empty one leaves its number free. One string holds them all, because
/// vocabularies have a million of them: 8 bytes per token in addition to its text.
class TokenList {
 public:
  TokenList() = default;
  TokenList(std::initializer_list<std::string_view> tokens);
  TokenList(const std::vector<std::string>& tokens);

  index_t size() const { return std::ssize(places_); }
  /// The token of a number below size(); valid until the list changes.
  std::string_view operator[](index_t id) const {
    const Place place = places_[static_cast<std::size_t>(id)];
    return std::string_view(bytes_).substr(place.begin, place.size);
  }

  /// How many numbers have a token.
  index_t used() const;

  /// Makes room for so many tokens and bytes. Growing would take them twice.
  void reserve(index_t tokens, index_t bytes);
  void add(std::string_view token) { set(size(), token); }
  /// Gives a number its token; numbers between that and the last one are free.
  /// **Errors**: more than 4 GB of text.
  void set(index_t id, std::string_view token);

  bool operator==(const TokenList& other) const;

 private:
  struct Place {
    std::uint32_t begin = 0;
    std::uint32_t size = 0;
  };
  std::string bytes_;
  std::vector<Place> places_;
};

/// The numbers of a list's tokens, by text: a hash table, with 8 to 16 bytes a token.
class TokenIndex {
 public:
  explicit TokenIndex(index_t tokens);

  /// The number of a token, or -1; assign a number to add the token.
  std::int32_t& place(const TokenList& tokens, std::string_view token) {
    return slots_[slot(tokens, token)];
  }
  std::int32_t find(const TokenList& tokens, std::string_view token) const {
    return slots_[slot(tokens, token)];
  }

 private:
  std::size_t slot(const TokenList& tokens, std::string_view token) const;

  std::vector<std::int32_t> slots_;
};

}  // namespace tessera::text
