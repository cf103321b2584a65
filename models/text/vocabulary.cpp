#include "tessera/models/text/vocabulary.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <stdexcept>
#include <utility>

#include "tessera/tensor/detail/keyed_hash.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/json.h"

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

namespace {

constexpr std::array<const char*, 4> kSpecialTokens = {"[PAD]", "[UNK]", "[CLS]", "[MASK]"};
constexpr const char* kSep = "[SEP]";

/// The first tokens of a vocabulary that TokenCounts makes, and their numbers.
TokenList special_tokens(bool sep) {
  TokenList tokens;
  for (const char* const token : kSpecialTokens) tokens.add(token);
  if (sep) tokens.add(kSep);
  return tokens;
}
SpecialTokens special_numbers(bool sep) {
  SpecialTokens special{.pad = 0, .unknown = 1, .cls = 2, .mask = 3};
  if (sep) special.sep = 4;
  return special;
}

}  // namespace

std::vector<index_t> SpecialTokens::ids() const {
  std::vector<index_t> ids;
  for (const auto& id : {pad, unknown, cls, sep, mask}) {
    if (id) ids.push_back(*id);
  }
  std::sort(ids.begin(), ids.end());
  ids.erase(std::unique(ids.begin(), ids.end()), ids.end());
  return ids;
}

bool SpecialTokens::contains(index_t id) const {
  return id == pad || id == unknown || id == cls || id == sep || id == mask;
}

Vocabulary::Vocabulary(TokenList tokens, const SpecialTokens& special, index_t more)
    : tokens_(std::move(tokens)), used_(tokens_.used()), most_(used_ + more) {
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  require(size() <= kMost, "Vocabulary", "must have at most ", kMost, " tokens, got ", size());
  require(more >= 0, "Vocabulary", "room must be for at least 0 tokens, got ", more);
  slots_.assign(std::bit_ceil(2 * static_cast<std::size_t>(most_) + 1), -1);
  for (index_t id = 0; id < size(); ++id) {
    if (tokens_[id].empty()) continue;
    std::int32_t& place = slots_[slot(tokens_[id])];
    if (place >= 0) {
      fail("Vocabulary", "tokens must be different, got ", printable(tokens_[id]), " as ", place,
           " and ", id);
    }
    place = static_cast<std::int32_t>(id);
  }
  set_special(special);
}

void Vocabulary::set_special(const SpecialTokens& special) {
  for (const index_t id : special.ids()) {
    require(id >= 0 && id < size(), "Vocabulary", "special tokens must be at least 0 and below ",
            size(), ", got ", id);
  }
  special_ = special;
}

/// The slot of a token, or a free slot for it.
std::size_t Vocabulary::slot(std::string_view token) const {
  const std::size_t mask = slots_.size() - 1;
  std::size_t at = KeyedHash()(token) & mask;
  while (slots_[at] >= 0 && tokens_[slots_[at]] != token) at = (at + 1) & mask;
  return at;
}

std::optional<index_t> Vocabulary::find(std::string_view token) const {
  const std::int32_t id = slots_[slot(token)];
  return id < 0 ? std::nullopt : std::optional<index_t>(id);
}

void Vocabulary::set(index_t id, std::string_view token) {
  require(id >= 0, "Vocabulary", "id must be at least 0, got ", id);
  constexpr std::int32_t kMost = std::numeric_limits<std::int32_t>::max();
  require(id < kMost, "Vocabulary", "id must be below ", kMost, ", got ", id);
  if (id < size() && !tokens_[id].empty()) {
    fail("Vocabulary", "id must be free, got ", id, ", the id of ", printable(tokens_[id]));
  }
  std::int32_t& place = slots_[slot(token)];
  const bool is_new = place < 0;
  require(!is_new || used_ < most_, "Vocabulary", "must have at most ", most_,
          " tokens, the constructor's room, got ", used_ + 1);
  if (!is_new) tokens_.set(place, "");
  tokens_.set(id, token);
  used_ += is_new ? 1 : 0;
  place = static_cast<std::int32_t>(id);
}

index_t Vocabulary::id(std::string_view token) const {
  const std::optional<index_t> found = find(token);
  if (found) return *found;
  if (!special_.unknown) {
    fail("Vocabulary", "must have an unknown token or ", printable(token), ", got neither");
  }
  return *special_.unknown;
}

std::string_view Vocabulary::token(index_t id) const {
  require(id >= 0 && id < size(), "Vocabulary", "token ids must be at least 0 and below ", size(),
          ", got ", id);
  return tokens_[id];
}

void TokenCounts::add(std::string_view token) {
  auto at = occurrences_.find(token);
  if (at == occurrences_.end()) {
    at =
        occurrences_.try_emplace(std::string(token), Occurrence{0, std::ssize(occurrences_)}).first;
  }
  ++at->second.count;
}

Vocabulary TokenCounts::vocabulary(const VocabularyOptions& options) const {
  TokenList tokens = special_tokens(options.sep);
  require(options.min_count >= 1, "Vocabulary", "min_count must be at least 1, got ",
          options.min_count);
  require(options.max_size == 0 || options.max_size >= tokens.size(), "Vocabulary",
          "max_size must be 0 or at least ", tokens.size(), ", got ", options.max_size);
  std::vector<const std::pair<const std::string, Occurrence>*> sorted;
  for (const auto& token : occurrences_) {
    if (token.second.count >= options.min_count) sorted.push_back(&token);
  }
  std::sort(sorted.begin(), sorted.end(), [](const auto* a, const auto* b) {
    return a->second.count != b->second.count ? a->second.count > b->second.count
                                              : a->second.order < b->second.order;
  });
  for (const auto* token : sorted) {
    if (tokens.size() == options.max_size) break;
    tokens.add(token->first);
  }
  return Vocabulary(std::move(tokens), special_numbers(options.sep));
}

std::string vocabulary_to_text(std::string_view kind, const Vocabulary& vocabulary) {
  JsonList tokens;
  for (index_t id = 0; id < vocabulary.size(); ++id) tokens.add(vocabulary.token(id));
  return JsonObject({{"type", kind}, {"vocab", tokens}}).text() + '\n';
}

Vocabulary vocabulary_from_json(const Json& json, bool (*is_token)(std::string_view)) {
  constexpr index_t kMost = 1 << 20;
  const Json list = json.at("vocab").as_list();
  const index_t count = list.size();
  if (count > kMost) list.fail("must have at most ", kMost, " tokens, got ", count);
  TokenList special = special_tokens(true);
  const bool sep = count >= special.size() && list.item(special.size() - 1).text() == kSep;
  if (!sep) special = special_tokens(false);
  if (count < special.size()) list.fail("must have at least 4 tokens, got ", count);
  TokenList tokens;
  tokens.reserve(count, 0);
  for (const Json& token : list.items()) {
    const index_t id = tokens.size();
    if (id < special.size() && token.text() != special[id]) {
      token.fail("must be ", special[id], ", got ", token.described());
    }
    if (id >= special.size() && !is_token(token.text())) {
      token.fail("must be a token that a text can have, got ", token.described());
    }
    tokens.add(token.text());
  }
  try {
    return Vocabulary(std::move(tokens), special_numbers(sep));
  } catch (const std::invalid_argument& error) {
    list.fail(error.what());
  }
}

}  // namespace tessera::text
