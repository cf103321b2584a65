#include "tessera/models/text/word_tokenizer.h"

#include "tessera/tensor/io/json.h"
#include "tessera/tensor/random.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::text {
namespace {

using namespace test;
using Ids = std::vector<index_t>;
using Texts = std::vector<std::string>;

TEST(SplitWords, CutsAtWhiteSpaceAndPunctuation) {
  EXPECT_EQ(split_words("The cat's  mat,\tU.S.\r\nx-2!"),
            (Texts{"the", "cat", "'", "s", "mat", ",", "u", ".", "s", ".", "x", "-", "2", "!"}));
  EXPECT_EQ(split_words("\xc3\x89t\xc3\xa9 Z\xe2\x82\xac"),
            (Texts{"\xc3\x89t\xc3\xa9", "z\xe2\x82\xac"}));
  EXPECT_TRUE(split_words(" \n").empty());
  std::string punctuation;
  for (char c = '!'; c < 0x7f; ++c) {
    if (c < '0' || (c > '9' && c < 'A') || (c > 'Z' && c < 'a') || c > 'z') punctuation += c;
  }
  EXPECT_EQ(punctuation.size(), 32u);
  EXPECT_EQ(split_words(punctuation).size(), 32u);
}

/// A text of pieces that are hard to divide into words.
std::string random_text(Rng& rng) {
  static const Texts kPieces = {" ",
                                "\n",
                                "\t",
                                "\r\n",
                                ".",
                                "'",
                                "-",
                                "_",
                                "a",
                                "Z",
                                "Q9",
                                "\xc3\x89",
                                "\xe2\x82\xac",
                                "\xf0\x9f\x98\x80",
                                "\x01",
                                "\x7f",
                                "\xc2\xa0"};
  std::string text;
  for (std::uint32_t i = rng.next_u32() % 40; i > 0; --i) {
    text += kPieces[rng.next_u32() % kPieces.size()];
  }
  return text;
}

TEST(WordTokenizer, OffsetsAreTheWordsPlacesInTheText) {
  Rng rng(3);
  for (int round = 0; round < 500; ++round) {
    const std::string text = random_text(rng);
    const auto words = WordTokenizer::of(Texts{text});
    const Encoding e = words.encode(text);
    ASSERT_EQ(e.ids[0], *words.special().cls);
    std::string covered(text.size(), ' ');
    index_t end = 0;
    for (std::size_t i = 1; i < e.ids.size(); ++i) {
      const Span at = e.offsets[i];
      ASSERT_GE(at.begin, end) << text;
      ASSERT_GT(at.end, at.begin) << text;
      end = at.end;
      ASSERT_EQ(split_words(text_at(text, at)), Texts{std::string(words.token(e.ids[i]))}) << text;
      covered.replace(static_cast<std::size_t>(at.begin), text_at(text, at).size(),
                      text_at(text, at));
    }
    ASSERT_LE(end, std::ssize(text));
    std::string wanted = text;  // only white space is outside of words
    for (char& c : wanted) {
      if (c == '\n' || c == '\t' || c == '\r') c = ' ';
    }
    ASSERT_EQ(covered, wanted);
  }
}

TEST(WordTokenizer, EncodesAndDecodes) {
  const auto words = WordTokenizer::of(Texts{"the cat the"});
  const Encoding e = words.encode("Cat, THE");
  EXPECT_EQ(e.ids, (Ids{2, 5, 1, 4}));
  EXPECT_EQ(e.offsets, (std::vector<Span>{{0, 0}, {0, 3}, {3, 4}, {5, 8}}));
  EXPECT_EQ(words.decode(Ids{4, 5, 3}), "the cat [MASK]");
  EXPECT_EQ(words.decode(Ids{}), "");
  EXPECT_TRUE(throws("Vocabulary", {"below 6, got 6"}, [&] { (void)words.decode(Ids{6}); }));
  // A text cannot contain a special token.
  const auto brackets = WordTokenizer::of(Texts{"[mask] [PAD]"});
  EXPECT_EQ(brackets.encode("[PAD]", {.add_special_tokens = false}).ids,
            (Ids{brackets.id("["), brackets.id("pad"), brackets.id("]")}));
}

TEST(WordTokenizer, IsMadeOfUtf8) {
  EXPECT_TRUE(throws("WordTokenizer", {"text 1, byte 3 must be UTF-8, got '\\xff'"}, [] {
    WordTokenizer::of(Texts{"a cat", "the\xff"});
  }));
}

TEST(WordTokenizer, IsTheSameAfterItsText) {
  const Texts texts = {"\\n is a Word\\ [SEP]", "and \x01\x7f too \xc3\xa9"};
  for (const auto& saved :
       {WordTokenizer::of(texts), WordTokenizer::of(texts, {.sep = true}), WordTokenizer::of({})}) {
    const auto loaded = WordTokenizer::from_json(parse_json(saved.to_text(), "x"));
    EXPECT_EQ(loaded.vocabulary(), saved.vocabulary());
    EXPECT_EQ(loaded.encode(texts[0]).ids, saved.encode(texts[0]).ids);
  }
  const auto with = [](const std::string& word) {
    return WordTokenizer::from_json(parse_json(
        R"({"type":"words","vocab":["[PAD]","[UNK]","[CLS]","[MASK]",")" + word + "\"]}", "v"));
  };
  const auto words = with("cat");
  EXPECT_EQ(words.encode("A Cat").ids, (Ids{2, 1, 4}));
  for (const std::string token : {"two words", "Upper", "", "a.b"}) {
    EXPECT_EQ(file_error([&] { with(token); }),
              "v: vocab[4]: must be a token that a text can have, got the text '" + token + "'");
  }
}

}  // namespace
}  // namespace tessera::text
