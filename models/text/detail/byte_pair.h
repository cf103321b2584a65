// Byte-pair encoding, the subword model of GPT-2, RoBERTa and ModernBERT.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "models/text/detail/subword_model.h"
#include "models/text/detail/word_cache.h"
#include "tensor/detail/keyed_hash.h"

namespace tessera::text {

struct BytePairOptions {
  std::optional<std::string> unknown = {};  // without it, unknown characters are dropped
  std::string prefix = {};                  // of tokens that continue a word
  std::string suffix = {};                  // of tokens that end one
  bool fuse_unknown = false;                // adjacent unknown characters are one token
  bool byte_fallback = false;  // unknown characters become "<0x41>", ... if these are tokens
  bool ignore_merges = false;  // a word that is a token is not split, for any merges
};

/// The pairs of tokens that are merged, the highest priority first.
using Merges = std::vector<std::pair<std::string, std::string>>;

/// Begins with a word's characters, and merges the pair of neighbours with the highest priority,
/// the leftmost if there are several, until no pair can be merged. Takes n log n time for n
/// characters.
/// **Source**: Sennrich et al., "Neural Machine Translation of Rare Words with Subword Units",
/// 2016.
class BytePair final : public SubwordModel {
 public:
  /// **Errors**: as SubwordVocabulary; a merge whose parts or result are not tokens.
  BytePair(TokenList vocabulary, const Merges& merges, const BytePairOptions& options = {});
  /// The same without merges, but with memory for `merges` of them.
  BytePair(TokenList vocabulary, std::size_t merges, const BytePairOptions& options);
  /// Adds a merge with the lowest priority.
  void add_merge(std::string_view left, std::string_view right);

  using SubwordModel::tokenize;
  void tokenize(std::string_view word, std::vector<Piece>& pieces, Effort& effort) const override;

 private:
  struct Symbol;

  /// The token of a merged pair, and the priority.
  struct Merge {
    std::uint32_t rank;
    std::uint32_t id;
  };
  /// The merges by pair: a hash table with open addressing.
  class MergeTable {
   public:
    explicit MergeTable(std::size_t merges);
    std::size_t size() const { return slots_.size(); }
    void set(index_t left, index_t right, Merge merge);
    const Merge* find(std::uint32_t left, std::uint32_t right) const;

   private:
    static constexpr std::uint64_t kFree = ~std::uint64_t{0};
    struct Slot {
      std::uint64_t pair = kFree;
      Merge merge = {};
    };
    std::size_t place_of(std::uint64_t pair) const;
    std::vector<Slot> slots_;
    KeyedHash hash_;
  };

  std::optional<index_t> character_id(std::string_view character, bool is_first,
                                      bool is_last) const;
  std::vector<Symbol> symbols_of(std::string_view word, const Effort& effort) const;
  void merge_all(std::vector<Symbol>& symbols) const;
  void cut(std::string_view word, std::vector<Piece>& pieces, const Effort& effort) const;

  SubwordVocabulary vocabulary_;
  BytePairOptions options_;
  std::optional<index_t> unknown_;
  MergeTable merges_;
  std::size_t most_merges_;
  std::uint32_t rank_ = 0;  // of the next merge
  ByteTokens bytes_;        // the tokens of byte_fallback
  WordCache cache_;
};

std::unique_ptr<SubwordModel> read_byte_pair(const Json& json);

}  // namespace tessera::text
