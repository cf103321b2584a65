// From a text to one vector: WordPiece, an embedding and a mean by plain loops, compared with the
// library's tokenizer, nn::Embedding, Pooling and similarity.
//
//     pieces     the longest token that begins the word, then the longest that continues it, ...
//     embedding  row i of x = row ids[i] of the table E, which is one_hot(ids) E
//     pooling    u = (x_0 + ... + x_(n-1)) / n           over the n real tokens, not the padding
//     cosine     u v / (|u| |v|)
//
//   008_words_into_numbers [FOLDER]     prints; draws FOLDER/008_*.svg
//
// Source: Wu et al., "Google's Neural Machine Translation System", 2016, section 4.1, and Devlin et
// al., "BERT", 2018, section 3, for the pieces; Reimers and Gurevych, "Sentence-BERT", 2019,
// section 3, for the mean.
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include <tessera/models/hugging_face/sentence_encoder.h>
#include <tessera/models/pooling.h>
#include <tessera/models/text/tokenizers.h>
#include <tessera/nn/embedding.h>
#include <tessera/tensor/io/file.h>
#include "examples/course/by_hand.h"
#include "examples/course/example.h"
#include "examples/course/pictures.h"

using namespace tessera;
using namespace tessera::examples;

namespace {

using Words = std::vector<std::string>;
using Ids = std::vector<index_t>;

/// A token's number is its position here. "##" marks tokens that continue a word.
const Words kVocabulary = {"[PAD]", "[UNK]", "[CLS]",  "[SEP]",  "[MASK]", "the",  "cat",
                           "dog",   "mouse", "chase",  "##d",    "play",   "##ed", "##ing",
                           "##s",   "un",    "##play", "##able", "sleep",  "##e"};

/// One row per token; here numbers that you can follow: animal, motion, rest, grammar.
const Matrix kTable = {{1, 1, 1, 3},  {0, 0, 0, 0}, {0, 0, 0, 1}, {0, 0, 0, 1},  {0, 0, 0, 0},
                       {0, 0, 0, 1},  {3, 1, 1, 0}, {3, 2, 0, 0}, {2, 2, 0, 0},  {0, 4, -1, 0},
                       {0, 0, 0, 1},  {0, 3, 0, 0}, {0, 0, 0, 1}, {0, 1, 0, 1},  {0, 0, 0, 1},
                       {0, 0, 0, -1}, {0, 3, 0, 0}, {0, 0, 0, 1}, {0, -1, 4, 0}, {0, 0, 0, 1}};

const Words kSentences = {"the cat chased the mouse", "the mouse chased the cat",
                          "the dogs chased the cats", "the cats sleep"};

// ---- the parts ----

index_t number_of(const std::string& token) {
  const auto found = std::find(kVocabulary.begin(), kVocabulary.end(), token);
  return found == kVocabulary.end() ? -1 : found - kVocabulary.begin();
}

/// The longest token that begins the remaining part of the word, until nothing remains. If no token
/// begins a part, the whole word is unknown.
Words pieces_of(const std::string& word) {
  Words pieces;
  for (std::size_t begin = 0; begin < word.size();) {
    std::string piece;
    std::size_t size = word.size() - begin;
    for (; size > 0; --size) {
      piece = (begin > 0 ? "##" : "") + word.substr(begin, size);
      if (number_of(piece) >= 0) break;
    }
    if (size == 0) return {"[UNK]"};
    pieces.push_back(piece);
    begin += size;
  }
  return pieces;
}

/// [CLS], the pieces of each word, [SEP].
Ids ids_of(const std::string& sentence) {
  Ids ids = {number_of("[CLS]")};
  std::istringstream words(sentence);
  for (std::string word; words >> word;) {
    for (const std::string& piece : pieces_of(word)) ids.push_back(number_of(piece));
  }
  ids.push_back(number_of("[SEP]"));
  return ids;
}

Matrix one_hot(const Ids& ids) {
  return matrix_of(std::ssize(ids), std::ssize(kVocabulary), [&](index_t i, index_t token) {
    return ids[static_cast<std::size_t>(i)] == token ? 1 : 0;
  });
}

Matrix looked_up(const Ids& ids) {
  return matrix_of(std::ssize(ids), kTable.columns(), [&](index_t i, index_t c) {
    return kTable(ids[static_cast<std::size_t>(i)], c);
  });
}

/// The mean of the first `length` rows of x as row `at` of `means`.
void mean_into(Matrix& means, index_t at, const Matrix& x, index_t length) {
  for (index_t i = 0; i < length; ++i) {
    for (index_t c = 0; c < x.columns(); ++c) {
      means(at, c) += x(i, c) / static_cast<double>(length);
    }
  }
}

/// The products of all rows, divided by their lengths.
Matrix cosines(const Matrix& u) {
  const Matrix products = product(u, transposed(u));
  return matrix_of(u.rows(), u.rows(), [&](index_t i, index_t j) {
    return products(i, j) / std::sqrt(products(i, i) * products(j, j));
  });
}

// ---- the lesson ----

/// The library's tokenizer with this vocabulary: a folder with a vocab.txt, as for BERT.
std::unique_ptr<text::Tokenizer> library_tokenizer() {
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / str_cat("tessera_lesson_", getpid());
  std::filesystem::create_directory(folder);
  std::string lines;
  for (const std::string& token : kVocabulary) lines += token + '\n';
  write_text(folder / "vocab.txt", lines);
  auto tokenizer = text::load_tokenizer(folder);
  std::filesystem::remove_all(folder);
  return tokenizer;
}

void cut_words() {
  std::printf("Step 1: Words, and the tokens into which they are split\n");
  for (const char* word : {"cat", "cats", "chased", "playing", "unplayable", "mouses", "zebra"}) {
    std::printf("%-11s", word);
    for (const std::string& piece : pieces_of(word)) std::printf(" %s", piece.c_str());
    std::printf("\n");
  }
}

void number_sentences() {
  std::printf("\nStep 2: Sentences as numbers of tokens\n");
  const auto library = library_tokenizer();
  for (const std::string& sentence : kSentences) {
    const Ids ids = ids_of(sentence);
    require(ids == library->encode(sentence).ids, "tokenizer",
            "numbers must be the same by hand and by the library for ", printable(sentence));
    std::printf("%-25s", sentence.c_str());
    for (const index_t id : ids) std::printf(" %td", id);
    std::printf("\n");
  }
  std::printf("the library's tokenizer gives the same numbers\n\n");
}

void embed_tokens() {
  const Ids ids = ids_of(kSentences[3]);
  show("Step 3: The rows of the table for the last sentence", looked_up(ids));
  show("The same as a product: one 1 in each row,", one_hot(ids));
  show("times the table", product(one_hot(ids), kTable));
}

/// The sentences' means over the real tokens.
Matrix pool_sentences() {
  std::vector<Ids> rows;
  std::size_t longest = 0;
  for (const std::string& sentence : kSentences) {
    rows.push_back(ids_of(sentence));
    longest = std::max(longest, rows.back().size());
  }
  Matrix with_padding(std::ssize(rows), kTable.columns());
  Matrix means = with_padding;
  Ids batch, lengths;
  for (index_t i = 0; i < std::ssize(rows); ++i) {
    Ids& ids = rows[static_cast<std::size_t>(i)];
    lengths.push_back(std::ssize(ids));
    ids.resize(longest, number_of("[PAD]"));
    batch.insert(batch.end(), ids.begin(), ids.end());
    mean_into(with_padding, i, looked_up(ids), std::ssize(ids));
    mean_into(means, i, looked_up(ids), lengths.back());
  }
  show("Step 4: The means of the four sentences, padding among the rows", with_padding);
  show("and over the real tokens only", means);

  nn::Embedding embedding({.num_embeddings = kTable.rows(), .embedding_dim = kTable.columns()});
  embedding.weight = Tensor(kTable);
  const models::Tokens tokens = {
      .ids = from_vector(batch, {std::ssize(rows), static_cast<index_t>(longest)}),
      .lengths = from_vector(lengths)};
  check_close("nn::Embedding and Pooling::kMean", means,
              models::Pooling::kMean(embedding(tokens.ids), tokens));
  return means;
}

void compare_sentences(const Matrix& means) {
  show("Step 5: The cosines of the sentences", cosines(means));
  const Tensor u = means;
  check_close("similarity", cosines(means), models::similarity(models::Similarity::kCosine, u, u));
}

void draw(const std::string& folder) {
  const Ids ids = ids_of(kSentences[3]);
  Words tokens;
  for (const index_t id : ids) tokens.push_back(kVocabulary[static_cast<std::size_t>(id)]);
  const Words columns = {"A", "M", "R", "G"};  // animal, motion, rest, grammar
  write_picture(
      folder, "008_lookup.svg",
      Picture{.description = "One-hot rows times the table are rows of the table",
              .panels = {{"one-hot rows", one_hot(ids), "vocabulary", "token", {}, tokens},
                         {"the table", kTable, "column", "vocabulary", columns, kVocabulary},
                         {"their product", looked_up(ids), "column", "token", columns, tokens}},
              .low = -4,
              .high = 4,
              .digits = 0});
}

}  // namespace

int main(int argc, char** argv) {
  return run_example("008_words_into_numbers", argc, argv, "[FOLDER]", [&] {
    cut_words();
    number_sentences();
    embed_tokens();
    compare_sentences(pool_sentences());
    if (argc > 1) draw(argv[1]);
  });
}
