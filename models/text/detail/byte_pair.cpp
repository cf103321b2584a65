#include <algorithm>
#include <bit>
#include <limits>
#include <queue>
#include <string>

#include "tessera/models/text/detail/subword_model.h"
#include "tessera/models/text/detail/word_cache.h"
#include "tessera/models/text/utf8.h"
#include "tessera/tensor/detail/keyed_hash.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/detail/utf8.h"
#include "tessera/tensor/io/file.h"

namespace tessera::text {

namespace {

/// The pairs of tokens that are merged: a hash table with open addressing.
class MergeTable {
 public:
  /// The token of a merged pair, and the priority.
  struct Merge {
    std::uint32_t rank;
    std::uint32_t id;
  };

  explicit MergeTable(std::size_t merges) : slots_(std::bit_ceil(merges + merges / 2 + 2)) {}
  void set(index_t left, index_t right, Merge merge) {
    const auto pair = static_cast<std::uint64_t>(left) << 32 | static_cast<std::uint64_t>(right);
    slots_[place_of(pair)] = {pair, merge};
  }
  const Merge* find(std::uint32_t left, std::uint32_t right) const {
    const Slot& slot = slots_[place_of(std::uint64_t{left} << 32 | right)];
    return slot.pair == kFree ? nullptr : &slot.merge;
  }

 private:
  static constexpr std::uint64_t kFree = ~std::uint64_t{0};
  struct Slot {
    std::uint64_t pair = kFree;
    Merge merge = {};
  };

  /// The slot of a pair, or a free slot for it.
  std::size_t place_of(std::uint64_t pair) const {
    std::size_t place = hash_(pair) & (slots_.size() - 1);
    while (slots_[place].pair != kFree && slots_[place].pair != pair) {
      place = (place + 1) & (slots_.size() - 1);
    }
    return place;
  }

  std::vector<Slot> slots_;
  KeyedHash hash_;
};

/// Byte-pair encoding, the subword model of GPT-2, RoBERTa and ModernBERT. Begins with a word's
/// characters, and merges the pair of neighbours with the highest priority, the leftmost if there
/// are several, until no pair can be merged. Takes n log n time for n characters.
/// **Source**: Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units",
/// 2016.
class BytePair final : public SubwordModel {
 public:
  /// **Errors**: a merge whose parts or result are not tokens.
  explicit BytePair(const Json& json);

  void tokenize(std::string_view word, std::vector<Piece>& pieces, Effort& effort) const override;

 private:
  /// A part of a word. All parts are in one list; merged ones are skipped.
  struct Symbol {
    static constexpr std::uint32_t kNone = 0xffffffff;

    std::uint32_t id;
    std::uint32_t size;  // in bytes; 0: merged into its left neighbour
    std::uint32_t before = kNone;
    std::uint32_t next = kNone;
  };
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

  void add_merges(const Json& merges);
  void add_merge(std::string_view left, std::string_view right, std::uint32_t rank);
  std::optional<index_t> character_id(std::string_view character, bool is_first,
                                      bool is_last) const;
  std::vector<Symbol> symbols_of(std::string_view word, const Effort& effort) const;
  void merge_all(std::vector<Symbol>& symbols) const;
  void cut(std::string_view word, std::vector<Piece>& pieces, const Effort& effort) const;

  Trie trie_;
  bool drops_unknown_;  // without a name of an unknown token
  std::optional<index_t> unknown_;
  bool fuse_unknown_;   // adjacent unknown characters are one token
  std::string prefix_;  // of tokens that continue a word
  std::string suffix_;  // of tokens that end one
  bool ignore_merges_;  // a word that is a token is not split, for any merges
  ByteTokens bytes_;    // the tokens "<0x41>", ... for unknown characters, with "byte_fallback"
  MergeTable merges_;
  WordCache cache_;
};

/// Checks a prefix or suffix, which is written again for each unknown character.
void check_affix(const std::string& affix) {
  constexpr std::size_t kMostBytes = 100;
  require(affix.size() <= kMostBytes, "BytePair", "prefixes and suffixes must have at most ",
          kMostBytes, " bytes, got ", affix.size());
}

BytePair::BytePair(const Json& json)
    : SubwordModel(read_tokens(json.at("vocab"))),
      trie_(tokens()),
      drops_unknown_(!json.has("unk_token")),
      fuse_unknown_(json.boolean("fuse_unk", false)),
      prefix_(json.text("continuing_subword_prefix", "")),
      suffix_(json.text("end_of_word_suffix", "")),
      ignore_merges_(json.boolean("ignore_merges", false)),
      bytes_(byte_tokens(json.boolean("byte_fallback", false) ? &trie_ : nullptr)),
      merges_(static_cast<std::size_t>(json.at("merges").as_list().size())) {
  constexpr index_t kMostMerges = 1 << 20;
  const Json merges = json.at("merges");
  require(merges.size() <= kMostMerges, "BytePair", "must have at most ", kMostMerges,
          " merges, got ", merges.size());
  check_affix(prefix_);
  check_affix(suffix_);
  if (!drops_unknown_) unknown_ = trie_.find(json.text("unk_token"));
  add_merges(merges);
}

/// The pairs, the highest priority first.
void BytePair::add_merges(const Json& merges) {
  std::uint32_t rank = 0;
  for (const Json& merge : merges.items()) {
    if (merge.is_list() && merge.size() == 2) {
      add_merge(merge.item(0).text(), merge.item(1).text(), rank++);
      continue;
    }
    const std::string_view text = merge.text();
    if (text.starts_with("#version")) continue;
    const std::size_t space = text.find(' ');
    if (space == std::string_view::npos || text.find(' ', space + 1) != std::string_view::npos) {
      merge.fail("must be two tokens with a space between them, got ", merge.described());
    }
    add_merge(text.substr(0, space), text.substr(space + 1), rank++);
  }
}

void BytePair::add_merge(std::string_view left, std::string_view right, std::uint32_t rank) {
  const auto refuse = [&](const auto&... what) {
    fail("BytePair", "merge ", rank, " of ", printable(left), " and ", printable(right), ": ",
         what...);
  };
  const auto id_at = [&](Trie::Node node, std::string_view token) {
    const std::optional<index_t> id = trie_.value(node);
    if (!id) refuse(printable(token), " must be a token, got none of that name");
    return *id;
  };
  const Trie::Node first = trie_.walk(Trie::kRoot, left);
  const index_t left_id = id_at(first, left);
  const index_t right_id = id_at(trie_.walk(Trie::kRoot, right), right);
  if (right.size() < prefix_.size()) {
    refuse("the second token must have the prefix ", printable(prefix_), ", got ",
           printable(right));
  }
  const std::string_view rest = right.substr(prefix_.size());
  const std::optional<index_t> both = trie_.value(trie_.walk(first, rest));
  if (!both) {
    refuse(printable(std::string(left) + std::string(rest)),
           " must be a token, got none of that name");
  }
  merges_.set(left_id, right_id, {rank, static_cast<std::uint32_t>(*both)});
}

std::optional<index_t> BytePair::character_id(std::string_view character, bool is_first,
                                              bool is_last) const {
  Trie::Node node = Trie::kRoot;
  if (!is_first) node = trie_.walk(node, prefix_);
  node = trie_.walk(node, character);
  if (is_last) node = trie_.walk(node, suffix_);
  return trie_.value(node);
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
    const std::string text = str_cat(is_first ? "" : prefix_, character, is_last ? suffix_ : "");
    if (has_all(bytes_, text)) {  // these overtake waiting unknown characters, as in the source
      for (const char c : text) add(bytes_[static_cast<unsigned char>(c)], 1);
    } else if (!drops_unknown_) {
      if (!fuse_unknown_) add_unknown(character);
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
    const MergeTable::Merge* const merge = merges_.find(symbols[left].id, symbols[right].id);
    if (merge != nullptr) queue.push({merge->rank, left, merge->id});
  };
  for (std::uint32_t i = 1; i < symbols.size(); ++i) offer(i - 1, i);
  while (!queue.empty()) {
    const Waiting top = queue.top();
    queue.pop();
    Symbol& left = symbols[top.place];
    if (left.size == 0 || left.next == Symbol::kNone) continue;
    Symbol& right = symbols[left.next];
    const MergeTable::Merge* const merge = merges_.find(left.id, right.id);
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
  if (ignore_merges_ && !word.empty()) {
    if (const auto id = trie_.find(word)) {
      pieces.push_back({*id, {0, std::ssize(word)}});
      return;
    }
  }
  cache_.get(word, pieces,
             [&](std::string_view text, std::vector<Piece>& into) { cut(text, into, effort); });
}

}  // namespace

std::unique_ptr<SubwordModel> read_byte_pair(const Json& json) {
  if (json.number("dropout", 0) != 0) {
    json.at("dropout").fail("must be 0, got ", json.at("dropout").described(),
                            "; encoding is not random here");
  }
  return std::make_unique<BytePair>(json);
}

}  // namespace tessera::text
