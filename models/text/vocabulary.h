// Vocabularies: which number a token has. A tokenizer cuts texts into tokens
// (tokenizer.h).
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/token_list.h"

namespace tessera::text {

/// The numbers of a vocabulary's special tokens; those that the vocabulary lacks are absent.
///
/// Two may share a number: some vocabularies have one token for [CLS] and [SEP].
struct SpecialTokens {
  std::optional<index_t> pad = {};      // fills the rows of shorter texts in a batch
  std::optional<index_t> unknown = {};  // for tokens that are not in the vocabulary
  std::optional<index_t> cls = {};      // before a text
  std::optional<index_t> sep = {};      // after a text, and so between two
  std::optional<index_t> mask = {};     // for a token that the model has to guess

  /// All that are there, each once, in rising order.
  std::vector<index_t> ids() const;
  bool contains(index_t id) const;

  bool operator==(const SpecialTokens&) const = default;
};

/// A list of tokens, whose places are their numbers, and which of them are special. An empty one
/// leaves its number free.
class Vocabulary {
 public:
  /// **Errors**: a token that occurs twice; a special token without a place in the list.
  Vocabulary(TokenList tokens, const SpecialTokens& special);

  /// The number of ids, free ones included.
  index_t size() const { return tokens_.list().size(); }
  /// The ids of the special tokens.
  const SpecialTokens& special() const { return special_; }

  /// The token's number, nothing if it has none.
  std::optional<index_t> find(std::string_view token) const { return tokens_.find(token); }
  /// The token's number, or that of the unknown token. **Errors**: there is neither.
  index_t id(std::string_view token) const;
  /// Empty if the number is free. **Errors**: no such number.
  std::string_view token(index_t id) const;

  bool operator==(const Vocabulary& other) const {
    return tokens_.list() == other.tokens_.list() && special_ == other.special_;
  }

 private:
  NumberedTokens tokens_;
  SpecialTokens special_;
};

/// The options of TokenCounts::vocabulary().
struct VocabularyOptions {
  index_t min_count = 1;  // rarer tokens are left out
  index_t max_size = 0;   // of the whole vocabulary, the special tokens included; 0: no limit
  bool sep = false;       // a [SEP] too, for pairs of texts
};

/// Counts tokens, and makes a vocabulary of the frequent ones.
///
/// "[PAD]", "[UNK]", "[CLS]" and "[MASK]" have the numbers 0 to 3, "[SEP]" has 4 if it is requested.
/// The others follow by count, the most frequent first, and of equally frequent ones the one that
/// was added first.
class TokenCounts {
 public:
  /// Counts one occurrence.
  void add(std::string_view token);
  /// **Errors**: options that are negative or leave no room.
  Vocabulary vocabulary(const VocabularyOptions& options) const;

 private:
  struct Occurrence {
    index_t count = 0;
    index_t order = 0;  // how many other tokens had occurred before this one first did
  };
  std::map<std::string, Occurrence, std::less<>> occurrences_;
};

/// A vocabulary of TokenCounts as lines: `kind`, which names its tokenizer, then a token a line, `\n`,
/// `\r` and `\\` for a line feed, a carriage return and a backslash.
std::string vocabulary_to_text(std::string_view kind, const Vocabulary& vocabulary);

/// The vocabulary of which vocabulary_to_text made `text`. **Errors**: std::runtime_error that begins
/// with `file`: other text; a token that is not one by `is_token`.
Vocabulary vocabulary_from_text(std::string_view kind, std::string_view text,
                                const std::string& file,
                                const std::function<bool(std::string_view)>& is_token);

}  // namespace tessera::text
