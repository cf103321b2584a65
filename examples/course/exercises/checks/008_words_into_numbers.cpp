#include <tessera/models/pooling.h>
#include <tessera/models/text/tokenizers.h>
#include "examples/course/exercises/check.h"

namespace tessera::exercises::checks {

using Words = std::vector<std::string>;

std::string joined(const Words& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += (text.empty() ? "" : " ") + piece;
  return text;
}

/// `hint` describes the mistake that gives the wrong result for this word.
void expect_pieces(const std::string& word, const Words& vocabulary, const Words& wanted,
                   const std::string& hint) {
  const Words found = word_pieces(word, vocabulary);
  expect(found == wanted,
         "word_pieces(\"" + word + "\") with the tokens " + joined(vocabulary) + ": must be " +
             joined(wanted) + ", got " + joined(found),
         hint);
}

void words_are_cut() {
  expect_pieces("cat", {"c", "cat", "##at"}, {"cat"},
                "the longest token wins, the whole word if it is one");
  expect_pieces("cats", {"cat", "s", "##s", "##at"}, {"cat", "##s"},
                "a token that continues a word begins with \"##\"");
  expect_pieces("played", {"p", "play", "##l", "##layed", "##e", "##d", "##ed"}, {"play", "##ed"},
                "the longest token wins, wherever it is in the list");
  expect_pieces("catx", {"cat", "##s", "[UNK]"}, {"[UNK]"},
                "the whole word is unknown if a part of it is");
  expect_pieces("abab", {"ab", "aba", "##ab"}, {"[UNK]"},
                "the longest token is kept even if nothing continues the word then");
  const auto library = text::train_word_piece(
      std::vector<std::string>{"the cats chased the dogs", "dogs play and cats sleep"},
      {.vocab_size = 40});
  Words tokens;
  for (index_t id = 0; id < library->size(); ++id) tokens.emplace_back(library->token(id));
  for (const char* word : {"cats", "plays", "chasedog", "sheep", "quiz"}) {
    Words wanted;
    for (const index_t id : library->encode(word, {.add_special_tokens = false}).ids) {
      wanted.emplace_back(library->token(id));
    }
    expect_pieces(word, tokens, wanted, "the library's tokenizer cuts this word differently");
  }
}

void padding_is_left_out() {
  const Matrix x = {{1, 2}, {3, 4}, {100, 100}, {5, 6}, {100, 100}, {100, 100}};
  expect_close("mean_of_tokens of two texts, 2 and 1 real tokens of 3",
               mean_of_tokens(x, 3, {2, 1}), {{2, 3}, {5, 6}},
               {{{{4 / 3.0, 2}, {5 / 3.0, 2}}, "divide by lengths[b], not by tokens"},
                {{{2, 3}, {100, 100}}, "row t of text b is row b * tokens + t, padding counted"}});
  const double nan = std::nan("");
  expect_close("mean_of_tokens with NaN at the padding", mean_of_tokens({{7}, {nan}}, 2, {1}),
               {{7}});
  const Tensor random = randn({3, 5, 4}, kFloat64);
  const models::Tokens lengths = {.lengths = tensor({5, 1, 3})};
  expect_close("mean_of_tokens of random rows", mean_of_tokens(random, 5, {5, 1, 3}),
               models::Pooling::kMean(random, lengths));
}

void the_nearest_is_found() {
  const auto expect_nearest = [](const Matrix& query, const Matrix& rows, index_t wanted,
                                 const std::string& hint) {
    const index_t found = nearest(query, rows);
    expect(found == wanted,
           str_cat("nearest of ", rows.rows(), " rows: must be ", wanted, ", got ", found), hint);
  };
  expect_nearest(
      {{1, 0}}, {{1, 0}, {9, 9}}, 0,
      "divide the dot product by the row's norm: a row with a larger norm is not nearer");
  expect_nearest(
      {{4, 0}}, {{3, 3}, {0.1, 0}}, 1,
      "divide the dot product by the row's norm: a row with a smaller norm is not farther");
  expect_nearest({{1, 0}}, {{-1, 0}, {-1, 1}, {-1, 0.5}}, 1,
                 "start with a cosine that any row exceeds, not 0");
  expect_nearest({{1, 2}}, {{-1, -2}, {2, -1}}, 1, "the opposite direction is the farthest");
}

std::vector<Exercise> all_exercises() {
  return {
      {"008.1 word_pieces",
       "try the whole rest of the word first, then one letter less, ...; all but the first piece "
       "begin with \"##\"",
       words_are_cut},
      {"008.2 mean_of_tokens",
       "row t of text b is row b * tokens + t; add the first lengths[b] rows and divide by "
       "lengths[b], not by tokens",
       padding_is_left_out},
      {"008.3 nearest",
       "divide the dot product by the row's norm; start with a cosine that any row exceeds, not 0",
       the_nearest_is_found},
  };
}

}  // namespace tessera::exercises::checks
