#include "models/text/detail/byte_pair.h"

#include <algorithm>
#include <bit>
#include <limits>
#include <queue>
#include <utility>

#include "models/text/utf8.h"
#include "tensor/error.h"
#include "tensor/io/detail/utf8.h"
#include "tensor/io/file.h"

namespace tessera::text {

namespace {

constexpr std::size_t kMostMerges = 1 << 20;

/// Checks a prefix or suffix, which is written again for each unknown character.
void check_affix(const std::string& affix) {
  constexpr std::size_t kMostBytes = 100;
  require(affix.size() <= kMostBytes, "BytePair", "prefixes and suffixes must have at most ",
          kMostBytes, " bytes, got ", affix.size());
}

/// A pair of neighbours in the queue of merges.
struct Waiting {
  std::uint32_t rank;
  std::uint32_t place;  // of its left symbol
  std::uint32_t id;     // the token of the merged pair

  /// Ordered for std::priority_queue, whose top is the greatest.
  bool operator<(const Waiting& other) const {
    return rank != other.rank ? rank > other.rank : place > other.place;
  }
};

}  // namespace

/// A part of a word. All parts are in one list; merged ones are skipped.
struct BytePair::Symbol {
  static constexpr std::uint32_t kNone = 0xffffffff;

  std::uint32_t id;
  std::uint32_t size;  // in bytes; 0: merged into its left neighbour
  std::uint32_t before = kNone;
  std::uint32_t next = kNone;
};

BytePair::MergeTable::MergeTable(std::size_t merges)
    : slots_(std::bit_ceil(merges + merges / 2 + 2)) {}

/// The slot of a pair, or a free slot for it.
std::size_t BytePair::MergeTable::place_of(std::uint64_t pair) const {
  std::size_t place = hash_(pair) & (slots_.size() - 1);
  while (slots_[place].pair != kFree && slots_[place].pair != pair) {
    place = (place + 1) & (slots_.size() - 1);
  }
  return place;
}

void BytePair::MergeTable::set(index_t left, index_t right, Merge merge) {
  const auto pair = static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint64_t>(right);
  slots_[place_of(pair)] = {pair, merge};
}

const BytePair::Merge* BytePair::MergeTable::find(std::uint32_t left, std::uint32_t right) const {
  const Slot& slot = slots_[place_of(std::uint64_t{left} << 32 | right)];
  return slot.pair == kFree ? nullptr : &slot.merge;
}

BytePair::BytePair(TokenList vocabulary, std::size_t merges, const BytePairOptions& options)
    : SubwordModel(std::move(vocabulary)),
      vocabulary_(tokens(), "BytePair"),
      options_(options),
      merges_(merges),
      most_merges_(merges),
      bytes_(byte_tokens(options.byte_fallback ? &vocabulary_.trie : nullptr)) {
  require(merges <= kMostMerges, "BytePair", "must have at most ", kMostMerges, " merges, got ",
          merges);
  check_affix(options.prefix);
  check_affix(options.suffix);
  if (options.unknown) unknown_ = vocabulary_.number(*options.unknown);
}

BytePair::BytePair(TokenList vocabulary, const Merges& merges, const BytePairOptions& options)
    : BytePair(std::move(vocabulary), merges.size(), options) {
  for (const auto& [left, right] : merges) add_merge(left, right);
}

void BytePair::add_merge(std::string_view left, std::string_view right) {
  const Trie& trie = vocabulary_.trie;
  const auto refuse = [&](const auto&... what) {
    fail("BytePair", "merge ", rank_, " of ", printable(left), " and ", printable(right), ": ",
         what...);
  };
  const auto checked = [&](Trie::Node node, std::string_view token) {
    if (node == Trie::kNone || trie.value(node) == Trie::kNoValue) {
      refuse(printable(token), " must be a token, got none of that name");
    }
    return trie.value(node);
  };
  require(rank_ < most_merges_, "BytePair", "must have at most ", most_merges_,
          " merges, got more");
  const Trie::Node first = trie.walk(Trie::kRoot, left);
  const index_t left_id = checked(first, left);
  const index_t right_id = checked(trie.walk(Trie::kRoot, right), right);
  const std::size_t prefix = options_.prefix.size();
  if (right.size() < prefix) {
    refuse("the second token must have the prefix ", printable(options_.prefix), ", got ",
           printable(right));
  }
  const Trie::Node both = trie.walk(first, right.substr(prefix));
  if (both == Trie::kNone || trie.value(both) == Trie::kNoValue) {
    checked(both, std::string(left) + std::string(right.substr(prefix)));
  }
  merges_.set(left_id, right_id, {rank_++, static_cast<std::uint32_t>(trie.value(both))});
}

std::optional<index_t> BytePair::character_id(std::string_view character, bool is_first,
                                              bool is_last) const {
  Trie::Node node = Trie::kRoot;
  if (!is_first) node = vocabulary_.trie.walk(node, options_.prefix);
  node = vocabulary_.trie.walk(node, character);
  if (is_last) node = vocabulary_.trie.walk(node, options_.suffix);
  if (node == Trie::kNone || vocabulary_.trie.value(node) == Trie::kNoValue) return {};
  return vocabulary_.trie.value(node);
}

std::vector<BytePair::Symbol> BytePair::symbols_of(std::string_view word,
                                                   const Effort& effort) const {
  constexpr std::size_t kLongestWord = std::numeric_limits<std::uint32_t>::max() / 8;
  require(word.size() < kLongestWord, "encode", "a word must have less than ", kLongestWord,
          " bytes, got ", word.size());
  std::vector<Symbol> symbols;
  const auto add = [&](index_t id, index_t size) {
    const auto place = static_cast<std::uint32_t>(symbols.size());
    if (place > 0) symbols.back().next = place;
    symbols.push_back({static_cast<std::uint32_t>(id), static_cast<std::uint32_t>(size),
                       place > 0 ? place - 1 : Symbol::kNone});
  };
  index_t unknown = 0;  // the bytes of unknown characters that are not yet a symbol
  const auto add_unknown = [&](std::string_view character) {
    if (unknown == 0) return;
    add(unknown_id(unknown_, character), std::exchange(unknown, 0));
  };
  for (std::size_t at = 0; at < word.size();) {
    const auto size = std::max<std::size_t>(detail::code_point_size(word.substr(at)), 1);
    const std::string_view character = word.substr(at, size);
    const bool is_first = at == 0;
    const bool is_last = at + size == word.size();
    at += size;
    effort.check_tokens(std::ssize(symbols));
    if (const auto id = character_id(character, is_first, is_last)) {
      add_unknown(character);
      add(*id, std::ssize(character));
      continue;
    }
    const std::string text =
        str_cat(is_first ? "" : options_.prefix, character, is_last ? options_.suffix : "");
    if (has_all(bytes_, text)) {  // these overtake waiting unknown characters, as in the source
      for (const char c : text) add(bytes_[static_cast<unsigned char>(c)], 1);
    } else if (options_.unknown) {
      if (!options_.fuse_unknown) add_unknown(character);
      unknown += std::ssize(character);
    }
  }
  add_unknown(word);
  return symbols;
}

void BytePair::merge_all(std::vector<Symbol>& symbols) const {
  std::priority_queue<Waiting> queue;
  const auto offer = [&](std::uint32_t left, std::uint32_t right) {
    if (left == Symbol::kNone || right == Symbol::kNone) return;
    const Merge* const merge = merges_.find(symbols[left].id, symbols[right].id);
    if (merge != nullptr) queue.push({merge->rank, left, merge->id});
  };
  for (std::uint32_t i = 1; i < symbols.size(); ++i) offer(i - 1, i);
  while (!queue.empty()) {
    const Waiting top = queue.top();
    queue.pop();
    Symbol& left = symbols[top.place];
    if (left.size == 0 || left.next == Symbol::kNone) continue;
    Symbol& right = symbols[left.next];
    const Merge* const merge = merges_.find(left.id, right.id);
    if (merge == nullptr || merge->id != top.id) continue;  // one of the two has changed
    left.id = top.id;
    left.size += std::exchange(right.size, 0);
    left.next = right.next;
    if (left.next != Symbol::kNone) symbols[left.next].before = top.place;
    offer(left.before, top.place);
    offer(top.place, left.next);
  }
}

void BytePair::cut(std::string_view word, std::vector<Piece>& pieces, const Effort& effort) const {
  std::vector<Symbol> symbols = symbols_of(word, effort);
  merge_all(symbols);
  const auto splits_character = [&](index_t at) {
    return at < std::ssize(word) && continues_code_point(word, at);
  };
  index_t at = 0;
  for (const Symbol& symbol : symbols) {
    if (symbol.size == 0) continue;
    // Bytes of a prefix or suffix that became tokens are not part of the word.
    const index_t next = std::min<index_t>(at + symbol.size, std::ssize(word));
    Span bytes = {at, next};  // of whole characters, though a token may be one of its bytes
    while (splits_character(bytes.begin)) --bytes.begin;
    while (splits_character(bytes.end)) ++bytes.end;
    pieces.push_back({symbol.id, bytes});
    at = next;
  }
}

void BytePair::tokenize(std::string_view word, std::vector<Piece>& pieces, Effort& effort) const {
  if (options_.ignore_merges && !word.empty()) {
    if (const auto id = vocabulary_.number(word)) {
      pieces.push_back({*id, {0, std::ssize(word)}});
      return;
    }
  }
  cache_.get(word, pieces,
             [&](std::string_view text, std::vector<Piece>& into) { cut(text, into, effort); });
}

namespace {

void read_merges(const Json& json, BytePair& model) {
  for (const Json& merge : json.items()) {
    if (merge.is_list() && merge.size() == 2) {
      model.add_merge(merge.item(0).text(), merge.item(1).text());
      continue;
    }
    const std::string_view text = merge.text();
    if (text.starts_with("#version")) continue;
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
      merge.fail("must be two tokens with a space between them, got ", merge.described());
    }
    model.add_merge(text.substr(0, space), text.substr(space + 1));
  }
}

}  // namespace

std::unique_ptr<SubwordModel> read_byte_pair(const Json& json) {
  if (json.number("dropout", 0) != 0) {
    json.at("dropout").fail("must be 0, got ", json.at("dropout").described(),
                            "; encoding is not random here");
  }
  BytePairOptions options;
  if (json.has("unk_token")) options.unknown = json.text("unk_token");
  options.prefix = json.text("continuing_subword_prefix", "");
  options.suffix = json.text("end_of_word_suffix", "");
  options.fuse_unknown = json.boolean("fuse_unk", false);
  options.byte_fallback = json.boolean("byte_fallback", false);
  options.ignore_merges = json.boolean("ignore_merges", false);
  const Json merges = json.at("merges").as_list();
  auto model = std::make_unique<BytePair>(read_tokens(json.at("vocab")),
                                          static_cast<std::size_t>(merges.size()), options);
  read_merges(merges, *model);
  return model;
}

}  // namespace tessera::text
