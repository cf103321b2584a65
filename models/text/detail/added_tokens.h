// Added tokens, the first step from a text to tokens: strings that are always one token, such as
// "[SEP]" or "<mask>".
#pragma once

#include <bitset>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/models/text/detail/steps.h"
#include "tessera/models/text/detail/trie.h"
#include "tessera/models/text/tokenizer.h"
#include "tessera/tensor/io/json.h"

namespace tessera::text {

struct AddedToken {
  index_t id = 0;  // set by number_tokens
  std::string content = {};
  bool single_word = false;   // only if no letter or digit is next to it
  bool strips_left = false;   // includes the white space before it
  bool strips_right = false;  // includes the white space after it
  bool normalized = false;    // is searched in the normalised text, in its normalised form
  bool special = false;
  std::string found_as = {};  // the string to search for; set by AddedTokens
};

/// A token written as an object, {"content": "<ent>", "lstrip": true, ...}, or as a text. `special`
/// is the default of the key "special", and the default of "normalized" is its opposite.
AddedToken read_added_token(const Json& json, bool special = false);
/// **Errors**: std::runtime_error at the place `json`: a token of more than 1000 bytes.
void check_content(const Json& json, std::string_view content);
/// The entries "added_tokens" of a tokenizer.json, with the numbers in the file.
std::vector<AddedToken> read_added_tokens(const Json& tokenizer);

/// Merges equal tokens, of which the last one counts, and numbers the tokens as the tokenizers
/// library does: a token of the model keeps its number; the others are numbered from `model_size`,
/// the number of the model's tokens. Adds the tokens to `tokens`, except those whose number already
/// has a token, which happens if the model's numbers have gaps.
/// **Errors**: std::invalid_argument: too many tokens.
std::vector<AddedToken> number_tokens(const std::vector<AddedToken>& list, index_t model_size,
                                      Vocabulary& tokens);

/// The added tokens of a tokenizer.
class AddedTokens {
 public:
  AddedTokens() = default;
  /// Tokens that are searched in normalised text are normalised here, if `normalizer` is not empty.
  /// **Errors**: std::invalid_argument: tokens that become too long, or take too long; as Trie.
  AddedTokens(std::vector<AddedToken> tokens, const TextStep& normalizer);

  /// The token with a number; null if there is none.
  const AddedToken* find(index_t id) const;
  /// The tokens as "added_tokens" of a tokenizer.json.
  JsonList to_json() const;

  enum class In { kGivenText, kNormalizedText };
  /// Whether any tokens are searched in such a text.
  bool any(In where) const { return strings(where).first.any(); }
  /// Divides a text at its added tokens; without `special` only at those that are not special.
  /// Calls `use` for each part, in the order of the text; `token` is null for the text between two
  /// tokens. **Errors**: as Effort.
  void cut(std::string_view text, In where, bool special, Effort& effort,
           const std::function<void(const AddedToken* token, Span bytes)>& use) const;

 private:
  /// Strings to find in a text.
  struct Strings {
    Trie trie = Trie(TokenList());  // from a string to its index in `tokens_`
    std::bitset<256> first;         // the first bytes of all strings
  };
  /// The index of a token in `tokens_`, or -1, and the bytes of the token in a text.
  struct Match {
    index_t index;
    Span bytes;
  };
  static Strings strings_of(const TokenList& strings);
  static Match first_match(const Strings& strings, std::string_view text, index_t from,
                           Effort& effort);
  const Strings& strings(In where) const { return where == In::kGivenText ? given_ : normalized_; }

  std::vector<AddedToken> tokens_;  // by number
  Strings given_;
  Strings normalized_;
};

}  // namespace tessera::text
