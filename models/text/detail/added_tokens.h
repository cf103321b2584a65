// Added tokens, the first step from a text to tokens: strings that are always one token, such as
// "[SEP]" or "<mask>".
#pragma once

#include <bitset>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "models/text/detail/steps.h"
#include "models/text/detail/trie.h"
#include "models/text/tokenizer.h"

namespace tessera::text {

struct AddedToken {
  index_t id = 0;
  std::string content = {};
  bool single_word = false;   // only if no letter or digit is next to it
  bool strips_left = false;   // includes the white space before it
  bool strips_right = false;  // includes the white space after it
  bool normalized = false;    // is searched in the normalised text, in its normalised form
  bool special = false;
  std::string found_as = {};  // the string to search for; set by AddedTokens
};

/// Finds some of many strings in a text: the leftmost match, and of these the longest.
class StringMatcher {
 public:
  StringMatcher() : StringMatcher(TokenList()) {}
  /// The strings and their numbers; empty ones are never found. **Errors**: as Trie.
  explicit StringMatcher(const TokenList& strings);

  struct Match {
    index_t number;  // -1: none
    Span bytes;
  };
  /// The first match that begins at or after `from`. **Errors**: as Effort.
  Match find(std::string_view text, index_t from, Effort& effort) const;
  bool empty() const { return first_.none(); }

 private:
  Trie strings_;
  std::bitset<256> first_;  // the first bytes of all strings
};

/// A part of a text: an added token, or the text between two.
struct TextPart {
  const AddedToken* token;  // null: text
  Span bytes;
};

/// The added tokens of a tokenizer.
class AddedTokens {
 public:
  AddedTokens() = default;
  /// Tokens that are searched in normalised text are normalised here, if `normalizer` is not empty.
  /// **Errors**: std::invalid_argument: tokens that become too long, or take too long; as Trie.
  AddedTokens(std::vector<AddedToken> tokens, const Normalizer& normalizer);

  const std::vector<AddedToken>& tokens() const { return tokens_; }
  /// The token with a number; null if there is none.
  const AddedToken* find(index_t id) const;

  enum class In { kGivenText, kNormalizedText };
  /// Whether any tokens are searched in such a text.
  bool any(In where) const { return !matcher(where).empty(); }
  /// Divides a text at its added tokens; without `special` only at those that are not special.
  /// Calls `use` for each part, in the order of the text. **Errors**: as Effort.
  void cut(std::string_view text, In where, bool special, Effort& effort,
           const std::function<void(const TextPart&)>& use) const;

 private:
  const StringMatcher& matcher(In where) const {
    return where == In::kGivenText ? given_ : normalized_;
  }

  std::vector<AddedToken> tokens_;  // by number
  StringMatcher given_;
  StringMatcher normalized_;
};

}  // namespace tessera::text
