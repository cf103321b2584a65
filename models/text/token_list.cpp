#include "models/text/token_list.h"

#include <algorithm>
#include <bit>
#include <limits>

#include "tensor/detail/keyed_hash.h"
#include "tensor/error.h"

namespace tessera::text {

TokenList::TokenList(std::initializer_list<std::string_view> tokens) {
  for (const std::string_view token : tokens) add(token);
}

TokenList::TokenList(const std::vector<std::string>& tokens) {
  for (const std::string& token : tokens) add(token);
}

index_t TokenList::used() const {
  return std::count_if(places_.begin(), places_.end(), [](Place place) { return place.size > 0; });
}

void TokenList::reserve(index_t tokens, index_t bytes) {
  places_.reserve(static_cast<std::size_t>(tokens));
  bytes_.reserve(static_cast<std::size_t>(bytes));
}

void TokenList::set(index_t id, std::string_view token) {
  constexpr std::size_t kMostBytes = std::numeric_limits<std::uint32_t>::max();
  require(bytes_.size() + token.size() <= kMostBytes, "TokenList", "must have at most ", kMostBytes,
          " bytes, got ", bytes_.size() + token.size());
  const auto place = static_cast<std::size_t>(id);
  if (place >= places_.size()) places_.resize(place + 1);
  places_[place] = {static_cast<std::uint32_t>(bytes_.size()),
                    static_cast<std::uint32_t>(token.size())};
  bytes_ += token;
}

bool TokenList::operator==(const TokenList& other) const {
  if (size() != other.size()) return false;
  for (index_t id = 0; id < size(); ++id) {
    if ((*this)[id] != other[id]) return false;
  }
  return true;
}

TokenIndex::TokenIndex(index_t tokens)
    : slots_(std::bit_ceil(2 * static_cast<std::size_t>(tokens) + 1), -1) {}

std::size_t TokenIndex::slot(const TokenList& tokens, std::string_view token) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = KeyedHash()(token) & mask;
  while (slots_[at] >= 0 && tokens[slots_[at]] != token) at = (at + 1) & mask;
  return at;
}

}  // namespace tessera::text
