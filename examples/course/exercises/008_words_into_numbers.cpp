// The exercises of examples/course/008_words_into_numbers.md: write the functions, then run
//
//     cmake --build build/release --target exercise_008
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

/// 008.1. The tokens of one word by WordPiece: the longest token of `vocabulary` that begins the
/// word, then the longest that continues it, and so on. Tokens that continue a word begin with
/// "##". A word with a part that no token begins is {"[UNK]"}.
///
/// `word_pieces("cats", {"cat", "##s"})` is {"cat", "##s"}.
std::vector<std::string> word_pieces(const std::string& word,
                                     const std::vector<std::string>& vocabulary) {
  unsolved("008.1", word, vocabulary);
}

/// 008.2. The mean of each text's real tokens. The rows of x are the tokens of text 0, then those
/// of text 1, ...: each text has `tokens` rows; the first lengths[b] are real, the others padding.
///
/// **Shapes**: x (B tokens, D), lengths B numbers of 1 .. tokens -> (B, D).
Matrix mean_of_tokens(const Matrix& x, index_t tokens, const std::vector<index_t>& lengths) {
  unsolved("008.2", x, tokens, lengths);
}

/// 008.3. The number of the row of `rows` that has the largest cosine with the row `query`.
///
/// **Shapes**: query (1, D), rows (N, D). No row is all zeros.
index_t nearest(const Matrix& query, const Matrix& rows) {
  unsolved("008.3", query, rows);
}

}  // namespace tessera::exercises
