#include "examples/course/exercises/007_words_into_numbers.h"

#include <cmath>

#include "examples/course/by_hand.h"
#include "examples/course/exercises/check.h"
#include "models/pooling.h"
#include "models/text/tokenizers.h"
#include "tensor/random.h"

namespace tessera::exercises {

namespace {

using examples::to_matrix;
using Words = std::vector<std::string>;

std::string joined(const Words& pieces) {
  std::string text;
  for (const std::string& piece : pieces) text += (text.empty() ? "" : " ") + piece;
  return text;
}

void expect_pieces(const std::string& hint, const std::string& word, const Words& vocabulary,
                   const Words& wanted) {
  const Words found = word_pieces(word, vocabulary);
  expect(found == wanted, "word_pieces(\"" + word + "\") with the tokens " + joined(vocabulary) +
                              ": must be " + joined(wanted) + ", got " + joined(found) + "; " +
                              hint);
}

void words_are_cut() {
  expect_pieces("a word that is a token is not cut", "cat", {"c", "cat", "##at"}, {"cat"});
  expect_pieces("a token that goes on with a word begins with \"##\"", "cats",
                {"cat", "s", "##s", "##at"}, {"cat", "##s"});
  expect_pieces("the longest token wins, not the first of the list", "played",
                {"p", "play", "##l", "##layed", "##e", "##d", "##ed"}, {"play", "##ed"});
  expect_pieces("the word as a whole is unknown if a part is", "catx", {"cat", "##s", "[UNK]"},
                {"[UNK]"});
  expect_pieces("a longest token is kept even if the rest is unknown then", "abab",
                {"ab", "aba", "##ab"}, {"[UNK]"});
  const auto library = text::train_word_piece(
      std::vector<std::string>{"the cats chased the dogs", "dogs play and cats sleep"},
      {.vocabulary_size = 40});
  Words tokens;
  for (index_t id = 0; id < library->size(); ++id) tokens.emplace_back(library->token(id));
  for (const char* word : {"cats", "plays", "chasedog", "sheep", "quiz"}) {
    Words wanted;
    for (const index_t id : library->encode(word, {.add_special = false}).ids) {
      wanted.emplace_back(library->token(id));
    }
    expect_pieces("as the library's tokenizer", word, tokens, wanted);
  }
}

void padding_is_left_out() {
  const Matrix x = {{1, 2}, {3, 4}, {100, 100}, {5, 6}, {100, 100}, {100, 100}};
  const Matrix found = mean_of_tokens(x, 3, {2, 1});
  expect_close("mean_of_tokens, text 0 of 2 real tokens of 3", Matrix{{found(0, 0), found(0, 1)}},
               {{2, 3}});
  expect_close("mean_of_tokens, text 1, whose rows begin at row 3", found, {{2, 3}, {5, 6}});
  const double nan = std::nan("");
  expect_close("mean_of_tokens with NaN at the padding", mean_of_tokens({{7}, {nan}}, 2, {1}),
               {{7}});
  Rng rng(1);
  const Tensor random = randn({3, 5, 4}, kFloat64, rng);
  const models::Tokens lengths = {.lengths = tensor({5, 1, 3})};
  expect_close("mean_of_tokens of random rows", mean_of_tokens(to_matrix(random), 5, {5, 1, 3}),
               to_matrix(models::Pooling::kMean(random, lengths)));
}

void the_nearest_is_found() {
  const auto expect_nearest = [](const std::string& hint, const Matrix& query, const Matrix& rows,
                                 index_t wanted) {
    expect_close("nearest, " + hint, static_cast<double>(nearest(query, rows)),
                 static_cast<double>(wanted));
  };
  expect_nearest("a longer row is not nearer", {{1, 0}}, {{1, 0}, {9, 9}}, 0);
  expect_nearest("a shorter row is not farther", {{4, 0}}, {{3, 3}, {0.1, 0}}, 1);
  expect_nearest("with negative cosines only", {{1, 0}}, {{-1, 0}, {-1, 1}, {-1, 0.5}}, 1);
  expect_nearest("the opposite direction is the farthest", {{1, 2}}, {{-1, -2}, {2, -1}}, 1);
}

}  // namespace

}  // namespace tessera::exercises

int main() {
  using namespace tessera::exercises;
  return run_checks(
      "007_words_into_numbers",
      {{"007.1 word_pieces",
        "try the whole rest of the word first, then one letter less, ...; all but the first piece "
        "begin with \"##\"",
        words_are_cut},
       {"007.2 mean_of_tokens",
        "row t of text b is row b * tokens + t; add the first lengths[b] rows and divide by "
        "lengths[b], not by tokens",
        padding_is_left_out},
       {"007.3 nearest",
        "divide the product by the row's length; start with a cosine that any row exceeds, not 0",
        the_nearest_is_found}});
}
