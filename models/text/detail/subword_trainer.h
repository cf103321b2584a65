// Learns the tokens of subword models from counts of words.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "models/text/detail/byte_pair.h"

namespace tessera::text {

/// How often words occur.
using WordCounts = std::map<std::string, index_t>;

struct SubwordLearning {
  index_t vocabulary_size = 30000;         // at which learning ends; 0: when no pair is left
  index_t min_count = 0;                   // of a pair that becomes a token
  std::vector<std::string> special = {};   // the first tokens
  std::vector<std::string> alphabet = {};  // characters that are tokens though no word has them
  index_t most_characters = 0;             // the rarer ones are left out; 0: no limit
  std::string prefix = {};                 // of tokens that continue a word
  std::string suffix = {};                 // of tokens that end one
};

struct LearnedSubwords {
  std::vector<std::string> tokens;  // by number
  Merges merges;
};

/// Begins with words as characters, and makes the most frequent pair of neighbours one token, again
/// and again; of equally frequent pairs that with the lowest numbers, of the left token first.
/// Tokens are the special ones, the characters by code point, those with prefix and suffix, the
/// pairs. Special tokens and characters are kept even if there are more than vocabulary_size of them.
/// No pair becomes a token of more than 1000 bytes.
/// **Errors**: std::invalid_argument: words that are not UTF-8; options or counts that are
/// negative.
/// **Source**: Sennrich et al., 2016; the trainer of the tokenizers library, whose merges these
/// are.
LearnedSubwords learn_subwords(const WordCounts& words, const SubwordLearning& options);

}  // namespace tessera::text
