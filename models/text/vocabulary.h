// Vocabularies: the ids of tokens. A tokenizer divides texts into tokens (tokenizer.h).
#pragma once

#include <cstdint>
#include <initializer_list>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tessera/tensor/kernels/types.h"

namespace tessera {
class Json;
}

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

/// The ids of a vocabulary's special tokens; tokens that the vocabulary lacks are absent.
///
/// Two special tokens may share an id: some vocabularies have one token for [CLS] and [SEP].
struct SpecialTokens {
  std::optional<index_t> pad = {};      // pads the rows of shorter texts in a batch
  std::optional<index_t> unknown = {};  // for tokens that are not in the vocabulary
  std::optional<index_t> cls = {};      // before a text
  std::optional<index_t> sep = {};      // after a text, and so between two texts
  std::optional<index_t> mask = {};     // for a token that the model must predict

  /// All ids that exist, each once, ascending.
  std::vector<index_t> ids() const;
  /// Whether `id` is that of a special token.
  bool contains(index_t id) const;

  bool operator==(const SpecialTokens&) const = default;
};

/// Tokens by id, with a search by text: a list, and a hash table of 8 to 16 bytes per token. Some
/// tokens are special.
class Vocabulary {
 public:
  /// The tokens of a list; the id of a token is its position. The hash table has room for `more`.
  /// **Errors**: a token that occurs twice; the id of a special token that is not in the list; 2^31
  /// or more tokens; room for fewer than 0.
  explicit Vocabulary(TokenList tokens, const SpecialTokens& special = {}, index_t more = 0);

  /// The number of ids, free ones included.
  index_t size() const { return tokens_.size(); }
  /// The token of each id.
  const TokenList& tokens() const { return tokens_; }
  /// The ids of the special tokens.
  const SpecialTokens& special() const { return special_; }
  /// Sets the ids of the special tokens. **Errors**: an id that is not in the list.
  void set_special(const SpecialTokens& special);

  /// The id of a token; nullopt if the token is not in the vocabulary.
  std::optional<index_t> find(std::string_view token) const;
  /// The id of a token or, if the vocabulary lacks the token, of the unknown token. **Errors**:
  /// neither token exists.
  index_t id(std::string_view token) const;
  /// The token of an id; empty if the id is free. **Errors**: no such id.
  std::string_view token(index_t id) const;
  /// Gives a free id its token. The token's previous id becomes free. **Errors**: as
  /// TokenList::set; an id that has a token, or that the constructor would reject; more tokens than
  /// the constructor's room.
  void set(index_t id, std::string_view token);

  bool operator==(const Vocabulary& other) const {
    return tokens_ == other.tokens_ && special_ == other.special_;
  }

 private:
  std::size_t slot(std::string_view token) const;

  TokenList tokens_;
  SpecialTokens special_;
  std::vector<std::int32_t> slots_;  // ids; -1: free
  index_t used_ = 0;                 // the number of slots in use
  index_t most_;                     // the largest number of slots that may be used
};

/// The options of TokenCounts::vocabulary().
struct VocabularyOptions {
  index_t min_count = 1;  // rarer tokens are dropped
  index_t max_size = 0;   // of the whole vocabulary, including special tokens; 0: no limit
  bool sep = false;       // add a [SEP], for pairs of texts
};

/// Counts tokens, and makes a vocabulary of the frequent ones.
///
/// "[PAD]", "[UNK]", "[CLS]" and "[MASK]" have the ids 0 to 3; "[SEP]" has the id 4 if requested.
/// The other tokens follow by count, the most frequent first; of equally frequent tokens, the token
/// that was added first comes first.
class TokenCounts {
 public:
  /// Counts one occurrence. An empty token takes an id of the vocabulary, which stays free.
  void add(std::string_view token);
  /// The vocabulary of the counted tokens. **Errors**: a min_count below 1; a max_size that is
  /// negative, or too small for the special tokens; a counted token that equals a special one, such
  /// as "[PAD]".
  Vocabulary vocabulary(const VocabularyOptions& options) const;

 private:
  struct Occurrence {
    index_t count = 0;
    index_t order = 0;  // the number of other tokens that occurred before it
  };
  std::map<std::string, Occurrence, std::less<>> occurrences_;
};

/// A vocabulary of TokenCounts as JSON, `{"type": kind, "vocab": ["[PAD]", "[UNK]", ...]}`. `kind`
/// is the name of the tokenizer.
std::string vocabulary_to_text(std::string_view kind, const Vocabulary& vocabulary);

/// The inverse of vocabulary_to_text, except its `kind`. **Errors**: std::runtime_error that names
/// the file and the place: other special tokens; more than 2^20 tokens; a token that occurs twice,
/// or that `is_token` rejects.
Vocabulary vocabulary_from_json(const Json& json, bool (*is_token)(std::string_view));

}  // namespace tessera::text
