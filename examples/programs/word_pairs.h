// A linear model of a text's words and of its pairs of neighbouring words: a baseline.
#pragma once

#include <span>
#include <vector>

#include "models/text/batches.h"

namespace tessera::examples {

struct WordPairsOptions {
  index_t epochs = 10;
  double rate = 4;  // at first; it falls to 0 by a straight line
};

/// The classes of `tested` by logistic regression on `train`:
///
///     scores = (sum of the rows of the text's n words and n - 1 pairs) / sqrt(2 n - 1)
///
/// Words and pairs have a row each if they are in `train`; others have none. The rows begin with
/// zeros and learn by gradient descent, a text a step. It is a baseline to hold an encoder's answers
/// against, in a second for some thousand lines, and uses no word order beyond its pairs.
///
/// The answers depend on the examples, their order and the options, and on nothing else.
/// **Errors**: nothing to learn from, a label outside [0, classes), too many rows times classes.
/// **Source**: Joulin et al., "Bag of tricks for efficient text classification", 2016, section 2,
/// with one matrix in place of two.
std::vector<index_t> word_pair_answers(std::span<const text::Example> train,
                                       std::span<const text::Example> tested, index_t classes,
                                       const WordPairsOptions& options = {});

}  // namespace tessera::examples
