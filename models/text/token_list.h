// The tokens of a vocabulary, by id.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/kernels/types.h"

namespace tessera::text {

/// Texts by id; an empty text means that the id is free. A vocabulary may have a million tokens, so
/// one string holds all texts: a token takes 8 bytes in addition to its text.
/// **Errors** of all functions that add tokens: more than 4 GB of text.
class TokenList {
 public:
  TokenList() = default;
  TokenList(std::initializer_list<std::string_view> tokens);
  TokenList(const std::vector<std::string>& tokens);

  /// The number of ids, free ones included.
  index_t size() const { return std::ssize(places_); }
  /// The token of an id below size(). The view is valid until the list changes.
  std::string_view operator[](index_t id) const {
    const Place place = places_[static_cast<std::size_t>(id)];
    return std::string_view(bytes_).substr(place.begin, place.size);
  }

  /// The number of ids with a token.
  index_t used() const;

  /// Reserves memory for this number of tokens and bytes. A list that grows without reserved memory
  /// can take twice the memory.
  void reserve(index_t tokens, index_t bytes);
  /// Gives the token the id size().
  void add(std::string_view token) { set(size(), token); }
  /// Gives an id its token; ids between the previous last id and this one are free. **Errors**: an
  /// id below 0.
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

/// Tokens by id, with a search by text: a list, and a hash table of 8 to 16 bytes per token.
/// **Errors** of the constructors: memory for fewer than 0 tokens.
class NumberedTokens {
 public:
  /// No tokens yet, with memory for `most` tokens of `bytes` bytes in all.
  explicit NumberedTokens(index_t most, index_t bytes = 0);
  /// The tokens of `list`, with room in the hash table for `more`. If tokens are equal, `find`
  /// returns the id of the first.
  explicit NumberedTokens(TokenList list, index_t more = 0);

  /// The tokens by id.
  const TokenList& list() const { return list_; }
  /// Moves the tokens out.
  TokenList release() { return std::move(list_); }
  /// The id of a token; nullopt if the token has none.
  std::optional<index_t> find(std::string_view token) const;
  /// Gives a free id its token. The token's previous id becomes free. **Errors**: as
  /// TokenList::set; more tokens than the constructor reserved memory for.
  void set(index_t id, std::string_view token);

 private:
  static std::vector<std::int32_t> free_slots(index_t used, index_t more);
  std::size_t slot(std::string_view token) const;

  TokenList list_;
  std::vector<std::int32_t> slots_;  // ids; -1: free
  index_t used_ = 0;                 // slots
  index_t most_;                     // of the slots that may be used
};

}  // namespace tessera::text
