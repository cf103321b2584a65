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
  require(id >= 0, "TokenList", "id must be at least 0, got ", id);
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

NumberedTokens::NumberedTokens(index_t most, index_t bytes)
    : slots_(free_slots(0, most)), most_(most) {
  list_.reserve(most, bytes);
}

NumberedTokens::NumberedTokens(TokenList list, index_t more)
    : list_(std::move(list)), used_(list_.used()), most_(used_ + more) {
  slots_ = free_slots(used_, more);
  for (index_t id = 0; id < list_.size(); ++id) {
    if (list_[id].empty()) continue;
    std::int32_t& place = slots_[slot(list_[id])];
    if (place < 0) place = static_cast<std::int32_t>(id);
  }
}

std::vector<std::int32_t> NumberedTokens::free_slots(index_t used, index_t more) {
  require(more >= 0, "NumberedTokens", "room must be for at least 0 tokens, got ", more);
  return std::vector<std::int32_t>(std::bit_ceil(2 * static_cast<std::size_t>(used + more) + 1),
                                   -1);
}

std::size_t NumberedTokens::slot(std::string_view token) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = KeyedHash()(token) & mask;
  while (slots_[at] >= 0 && list_[slots_[at]] != token) at = (at + 1) & mask;
  return at;
}

std::optional<index_t> NumberedTokens::find(std::string_view token) const {
  const std::int32_t id = slots_[slot(token)];
  return id < 0 ? std::nullopt : std::optional<index_t>(id);
}

void NumberedTokens::set(index_t id, std::string_view token) {
  require(id >= 0, "NumberedTokens", "id must be at least 0, got ", id);
  std::int32_t& place = slots_[slot(token)];
  const bool is_new = place < 0;
  require(!is_new || used_ < most_, "NumberedTokens", "must have at most ", most_,
          " tokens, the constructor's room, got ", used_ + 1);
  if (!is_new) list_.set(place, "");
  list_.set(id, token);
  used_ += is_new ? 1 : 0;
  place = static_cast<std::int32_t>(id);
}

}  // namespace tessera::text
