#include "models/text/vocabulary.h"

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <utility>

#include "models/text/utf8.h"
#include "tensor/detail/keyed_hash.h"
#include "tensor/error.h"
#include "tensor/io/file.h"

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
constexpr index_t kMostLines = 1 << 20;  // in a file

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

/// The escapes of a vocabulary's text: the letter after the backslash, and its meaning.
constexpr std::array<std::pair<char, char>, 3> kEscapes = {
    {{'n', '\n'}, {'r', '\r'}, {'\\', '\\'}}};

std::string escaped_token(std::string_view token) {
  std::string text;
  for (const char c : token) {
    const auto* escape = std::find_if(kEscapes.begin(), kEscapes.end(),
                                      [&](const auto& e) { return e.second == c; });
    if (escape != kEscapes.end()) text += '\\';
    text += escape != kEscapes.end() ? escape->first : c;
  }
  return text;
}

/// The inverse of escaped_token; nullopt if `text` has a different escape.
std::optional<std::string> unescaped_token(std::string_view text) {
  std::string token;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] != '\\') {
      token += text[i];
      continue;
    }
    if (++i == text.size()) return std::nullopt;
    const auto* escape = std::find_if(kEscapes.begin(), kEscapes.end(),
                                      [&](const auto& e) { return e.first == text[i]; });
    if (escape == kEscapes.end()) return std::nullopt;
    token += escape->second;
  }
  return token;
}

/// Takes lines from the front of a text, and counts them for errors.
struct Lines {
  std::string_view rest;
  const std::string& file;
  index_t number = 0;

  template <class... Parts>
  [[noreturn]] void fail_here(const Parts&... parts) const {
    fail_file(file, "line ", number, ": ", parts...);
  }
  std::string_view next() {
    ++number;
    const std::size_t end = rest.find('\n');
    if (end == std::string_view::npos)
      fail_here("must end with a line break, got the end of the file");
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end + 1);
    return line;
  }
};

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
  require(id >= 0 && id < size(), "Vocabulary", "token numbers must be at least 0 and below ",
          size(), ", got ", id);
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
  std::string text = std::string(kind) + '\n';
  for (index_t id = 0; id < vocabulary.size(); ++id)
    text += escaped_token(vocabulary.token(id)) + '\n';
  return text;
}

Vocabulary vocabulary_from_text(std::string_view kind, std::string_view text,
                                const std::string& file,
                                const std::function<bool(std::string_view)>& is_token) {
  Lines lines{text, file};
  const std::string_view first = lines.next();
  if (first != kind) lines.fail_here("must be '", kind, "', got ", printable(first));
  for (const char* const special : kSpecialTokens) {
    const std::string_view found = lines.next();
    if (found != special) lines.fail_here("must be ", special, ", got ", printable(found));
  }
  const bool sep = lines.rest.starts_with(std::string(kSep) + '\n');
  if (sep) lines.next();
  const TokenList special = special_tokens(sep);
  const auto most = std::count(lines.rest.begin(), lines.rest.end(), '\n') + special.size();
  if (most > kMostLines) {
    fail_file(file, "must have at most ", kMostLines, " tokens, got ", most);
  }
  TokenList list = special;
  list.reserve(most, std::ssize(text));
  Vocabulary tokens(std::move(list), special_numbers(sep), most - special.size());
  while (!lines.rest.empty()) {
    const std::string_view written = lines.next();
    const std::optional<std::string> token = unescaped_token(written);
    if (!token || find_invalid_utf8(*token) != std::string::npos || !is_token(*token)) {
      lines.fail_here("must be one of the ", kind, " that a text can have, got ",
                      printable(written));
    }
    if (tokens.find(*token)) {
      lines.fail_here("tokens must be different, got ", printable(written), " twice");
    }
    tokens.set(tokens.size(), *token);
  }
  return tokens;
}

}  // namespace tessera::text
