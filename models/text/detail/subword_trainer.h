// Learns the tokens of WordPiece from counts of words.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "tessera/tensor/kernels/types.h"

namespace tessera::text {

/// The number of occurrences of each word.
using WordCounts = std::map<std::string, index_t>;

struct SubwordLearning {
  index_t vocab_size = 30000;             // the limit of learning; 0: until no pair is left
  index_t min_count = 0;                  // the smallest count of a pair that becomes a token
  std::vector<std::string> special = {};  // the first tokens
  index_t max_characters = 0;             // rarer characters are dropped; 0: no limit
  std::string prefix = "##";              // of tokens that continue a word
};

/// The tokens by number. Begins with words as characters, and repeatedly makes one token of the
/// most frequent pair of neighbours. If pairs are equally frequent, takes the one with the lowest
/// number of the left token, then of the right token. The order is: special tokens, characters by
/// code point, characters with the prefix, pairs. Special tokens and characters are kept even if
/// there are more than vocab_size of them. Tokens of more than 1000 bytes are not made.
/// **Errors**: std::invalid_argument: words that are not UTF-8; options or counts that are
/// negative.
/// **Source**: Sennrich et al., 2016; the trainer of the tokenizers library, with the same tokens.
std::vector<std::string> learn_subwords(const WordCounts& words, const SubwordLearning& options);

}  // namespace tessera::text
