#include "tessera/models/text/detail/added_tokens.h"

#include <algorithm>
#include <unordered_map>
#include <utility>

#include "tessera/models/text/detail/subword_model.h"
#include "tessera/models/text/detail/unicode.h"
#include "tessera/models/text/utf8.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/detail/utf8.h"

namespace tessera::text {

namespace {

constexpr index_t kMostAddedTokens = 1 << 17;
constexpr index_t kMostAddedBytes = index_t{4} << 20;
constexpr std::size_t kLongestAddedToken = 1000;  // the time to find one grows with its length

/// The beginning of the code point that ends at `end`, which is not 0.
index_t begin_of_last(std::string_view text, index_t end) {
  do {
    --end;
  } while (end > 0 && continues_code_point(text, end));
  return end;
}

bool is_word_at(std::string_view text, index_t at) {
  return is_word(code_point_at(text, static_cast<std::size_t>(at)));
}
bool is_space_at(std::string_view text, index_t at) {
  return is_space(code_point_at(text, static_cast<std::size_t>(at)));
}

/// Whether no word continues at either end of a match.
bool stands_alone(std::string_view text, Span bytes) {
  const bool joins_left = bytes.begin > 0 && is_word_at(text, begin_of_last(text, bytes.begin));
  const bool joins_right = bytes.end < std::ssize(text) && is_word_at(text, bytes.end);
  return !joins_left && !joins_right;
}

/// The position before the white space that ends at `at`, at least `least`.
index_t skip_space_left(std::string_view text, index_t at, index_t least) {
  while (at > least) {
    const index_t before = begin_of_last(text, at);
    if (!is_space_at(text, before)) break;
    at = before;
  }
  return at;
}

index_t skip_space_right(std::string_view text, index_t at) {
  while (at < std::ssize(text) && is_space_at(text, at)) {
    at += static_cast<index_t>(detail::code_point_size(text_at(text, {at, std::ssize(text)})));
  }
  return at;
}

}  // namespace

void check_content(const Json& json, std::string_view content) {
  if (content.size() <= kLongestAddedToken) return;
  json.fail("must have at most ", kLongestAddedToken, " bytes, got ", content.size());
}

AddedToken read_added_token(const Json& json, bool special) {
  if (!json.is_object()) {
    check_content(json, json.text());
    return {.content = std::string(json.text()), .normalized = !special, .special = special};
  }
  AddedToken token;
  token.content = json.text("content");
  check_content(json.at("content"), token.content);
  token.single_word = json.boolean("single_word", false);
  token.strips_left = json.boolean("lstrip", false);
  token.strips_right = json.boolean("rstrip", false);
  token.special = json.boolean("special", special);
  token.normalized = json.boolean("normalized", !token.special);
  return token;
}

std::vector<AddedToken> read_added_tokens(const Json& tokenizer) {
  std::vector<AddedToken> tokens;
  const std::optional<Json> list = tokenizer.find("added_tokens");
  if (!list) return tokens;
  if (list->size() > kMostAddedTokens) {  // before memory is allocated for them
    list->fail("must have at most ", kMostAddedTokens, " tokens, got ", list->size());
  }
  tokens.reserve(static_cast<std::size_t>(list->size()));
  for (const Json& one : list->items()) {
    tokens.push_back(read_added_token(one.as_object()));
    tokens.back().id = one.integer("id", JsonRange{.low = 0});
  }
  return tokens;
}

std::vector<AddedToken> number_tokens(const std::vector<AddedToken>& list, index_t model_size,
                                      Vocabulary& tokens) {
  require(std::ssize(list) <= kMostAddedTokens, "tokenizer",
          "number of added tokens must be at most ", kMostAddedTokens, ", got ", list.size());
  std::vector<AddedToken> added;
  std::unordered_map<std::string_view, std::size_t> places;  // in `added`, by content
  index_t next = model_size;
  index_t bytes = 0;
  for (const AddedToken& token : list) {
    if (token.content.empty()) continue;
    bytes += std::ssize(token.content);
    require(bytes <= kMostAddedBytes, "tokenizer", "added tokens must have at most ",
            kMostAddedBytes, " bytes, got more");
    const auto [place, is_new] = places.try_emplace(token.content, added.size());
    if (is_new) {
      added.push_back(token);
      const std::optional<index_t> known = tokens.find(token.content);
      const index_t id = known ? *known : next++;
      if (id >= tokens.size() || tokens.token(id).empty()) tokens.set(id, token.content);
      added.back().id = id;
    } else {
      AddedToken& earlier = added[place->second];
      const index_t id = earlier.id;
      earlier = token;
      earlier.id = id;
    }
  }
  return added;
}

/// Empty strings are never found.
AddedTokens::Strings AddedTokens::strings_of(const TokenList& strings) {
  Strings result = {.trie = Trie(strings), .first = {}};
  for (index_t i = 0; i < strings.size(); ++i) {
    if (!strings[i].empty()) result.first.set(static_cast<unsigned char>(strings[i].front()));
  }
  return result;
}

/// The leftmost match that begins at or after `from`; of several, the longest.
AddedTokens::Match AddedTokens::first_match(const Strings& strings, std::string_view text,
                                            index_t from, Effort& effort) {
  for (auto begin = static_cast<std::size_t>(from); begin < text.size(); ++begin) {
    if (!strings.first[static_cast<unsigned char>(text[begin])]) continue;
    const Trie::Match match = strings.trie.longest(Trie::kRoot, text.substr(begin));
    effort.spend(static_cast<index_t>(match.steps));
    if (match.size == 0) continue;
    const auto at = static_cast<index_t>(begin);
    return {match.value, {at, at + static_cast<index_t>(match.size)}};
  }
  return {-1, {std::ssize(text), std::ssize(text)}};
}

AddedTokens::AddedTokens(std::vector<AddedToken> tokens, const TextStep& normalizer)
    : tokens_(std::move(tokens)) {
  std::sort(tokens_.begin(), tokens_.end(),
            [](const auto& a, const auto& b) { return a.id < b.id; });
  index_t bytes = 0;
  for (const AddedToken& token : tokens_) bytes += std::ssize(token.content);
  Effort effort(bytes);
  Vocabulary given(TokenList(), {}, std::ssize(tokens_));
  Vocabulary normalized(TokenList(), {}, std::ssize(tokens_));
  for (const bool special : {true, false}) {  // the special ones take precedence
    for (index_t i = 0; i < std::ssize(tokens_); ++i) {
      AddedToken& token = tokens_[static_cast<std::size_t>(i)];
      if (token.special != special) continue;
      AlignedText content{token.content, {}, 0, &effort};
      if (token.normalized && normalizer) normalizer(content);
      effort.keep(std::ssize(content.text));
      token.found_as = std::move(content.text);
      check_walked(token.found_as, "tokenizer");
      Vocabulary& strings = token.normalized ? normalized : given;
      const bool is_new = !token.found_as.empty() && !strings.find(token.found_as);
      if (is_new) strings.set(i, token.found_as);
    }
  }
  given_ = strings_of(given.tokens());
  normalized_ = strings_of(normalized.tokens());
}

const AddedToken* AddedTokens::find(index_t id) const {
  const auto at = std::lower_bound(tokens_.begin(), tokens_.end(), id,
                                   [](const AddedToken& token, index_t i) { return token.id < i; });
  return at == tokens_.end() || at->id != id ? nullptr : &*at;
}

JsonList AddedTokens::to_json() const {
  return json_list(tokens_, [](const AddedToken& token) {
    return JsonObject({{"id", token.id},
                       {"content", token.content},
                       {"single_word", token.single_word},
                       {"lstrip", token.strips_left},
                       {"rstrip", token.strips_right},
                       {"normalized", token.normalized},
                       {"special", token.special}});
  });
}

void AddedTokens::cut(std::string_view text, In where, bool special, Effort& effort,
                      const std::function<void(const AddedToken* token, Span bytes)>& use) const {
  index_t done = 0;
  Span space = {0, 0};  // the last one found, so that no space is searched twice
  for (index_t from = 0;;) {
    const Match match = first_match(strings(where), text, from, effort);
    if (match.index < 0) break;
    from = match.bytes.end;
    const AddedToken& token = tokens_[static_cast<std::size_t>(match.index)];
    if (token.special && !special) continue;
    if (token.single_word && !stands_alone(text, match.bytes)) continue;
    Span bytes = match.bytes;
    if (token.strips_left) bytes.begin = std::max(done, skip_space_left(text, bytes.begin, done));
    if (token.strips_right) {
      const bool known = bytes.end >= space.begin && bytes.end < space.end;
      space = {bytes.end, known ? space.end : skip_space_right(text, bytes.end)};
      bytes.end = space.end;
    }
    if (bytes.begin >= bytes.end) continue;  // white space that belongs to the previous token
    if (done < bytes.begin) use(nullptr, {done, bytes.begin});
    use(&token, bytes);
    done = bytes.end;
  }
  if (done < std::ssize(text)) use(nullptr, {done, std::ssize(text)});
}

}  // namespace tessera::text
