#include "models/text/vocabulary.h"

#include <gtest/gtest.h>

#include "tests/support/errors.h"
#include "tests/support/file_support.h"

namespace tessera::text {
namespace {

using test::file_error;
using test::TemporaryFolder;
using Ids = std::vector<index_t>;
using Texts = std::vector<std::string>;

/// The tokens of a vocabulary behind the special ones.
Texts tokens_of(const Vocabulary& vocabulary) {
  Texts tokens;
  for (index_t id = Vocabulary::kSpecialCount; id < vocabulary.size(); ++id) {
    tokens.push_back(vocabulary.token(id));
  }
  return tokens;
}

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

TEST(SplitCharacters, CutsAtCodePoints) {
  EXPECT_EQ(split_characters("a\n\xc3\xa9\xf0\x9f\x98\x80"),
            (Texts{"a", "\n", "\xc3\xa9", "\xf0\x9f\x98\x80"}));
  EXPECT_TRUE(
      test::throws("split_characters", {"byte 1", "\\xff"}, [] { split_characters("a\xff"); }));
}

TEST(Vocabulary, OrdersByCountThenByFirstAppearance) {
  const Texts texts = {"z b a", "b c z", "b"};
  const auto all = Vocabulary::of_words(texts);
  EXPECT_EQ(tokens_of(all), (Texts{"b", "z", "a", "c"}));
  EXPECT_EQ(all.size(), 8);
  EXPECT_EQ(tokens_of(Vocabulary::of_words(texts, {.min_count = 2})), (Texts{"b", "z"}));
  EXPECT_EQ(tokens_of(Vocabulary::of_words(texts, {.max_size = 7})), (Texts{"b", "z", "a"}));
  EXPECT_EQ(tokens_of(Vocabulary::of_words(texts, {.max_size = 4})), Texts{});
  EXPECT_EQ(tokens_of(Vocabulary::of_characters(Texts{"no\xc3\xb6n\n"})),
            (Texts{"n", "o", "\xc3\xb6", "\n"}));
}

TEST(Vocabulary, HasSpecialTokensInFront) {
  const auto empty = Vocabulary::of_words({});
  EXPECT_EQ(empty.size(), Vocabulary::kSpecialCount);
  EXPECT_EQ(empty.token(Vocabulary::kPad), "[PAD]");
  EXPECT_EQ(empty.token(Vocabulary::kUnknown), "[UNK]");
  EXPECT_EQ(empty.token(Vocabulary::kCls), "[CLS]");
  EXPECT_EQ(empty.token(Vocabulary::kMask), "[MASK]");
  // A text cannot hold them.
  const auto words = Vocabulary::of_words(Texts{"[mask] [PAD]"});
  EXPECT_EQ(words.encode("[PAD]"), (Ids{words.id("["), words.id("pad"), words.id("]")}));
}

TEST(Vocabulary, EncodesAndDecodes) {
  const auto words = Vocabulary::of_words(Texts{"the cat the"});
  EXPECT_EQ(words.encode("Cat, THE"), (Ids{5, Vocabulary::kUnknown, 4}));
  EXPECT_EQ(words.decode(Ids{4, 5, Vocabulary::kMask}), "the cat [MASK]");
  const auto characters = Vocabulary::of_characters(Texts{"ab\n"});
  EXPECT_EQ(characters.encode("b\xe2\x82\xac\n"), (Ids{5, Vocabulary::kUnknown, 6}));
  EXPECT_EQ(characters.decode(characters.encode("ab\na")), "ab\na");
  EXPECT_TRUE(
      test::throws("Vocabulary", {"number 7", "there are 7"}, [&] { (void)characters.token(7); }));
  EXPECT_TRUE(test::throws("Vocabulary", {"-1"}, [&] { (void)characters.decode(Ids{-1}); }));
}

TEST(Vocabulary, RefusesImpossibleOptions) {
  EXPECT_TRUE(test::throws("Vocabulary", {"min_count"},
                           [] { Vocabulary::of_words({}, {.min_count = 0}); }));
  EXPECT_TRUE(test::throws("Vocabulary", {"max_size", "3"},
                           [] { Vocabulary::of_words({}, {.max_size = 3}); }));
}

TEST(Vocabulary, IsTheSameAfterSavingAndLoading) {
  const TemporaryFolder folder;
  Texts every;
  for (int code = 0; code < 0x80; ++code) every.emplace_back(1, static_cast<char>(code));
  every.insert(every.end(), {"\xc3\xa9", "\xe2\x82\xac", "\xef\xbb\xbf", "\xf0\x9f\x98\x80"});
  for (const auto& saved :
       {Vocabulary::of_characters(every), Vocabulary::of_words(every), Vocabulary::of_words({}),
        Vocabulary::of_words(Texts{"\\n is a Word\\", "and \x01\x7f too"})}) {
    saved.save(folder.path() / "v");
    const auto loaded = Vocabulary::load(folder.path() / "v");
    EXPECT_EQ(loaded, saved);
    EXPECT_EQ(loaded.has_words(), saved.has_words());
    EXPECT_EQ(loaded.to_text(), saved.to_text());
    for (index_t id = 0; id < saved.size(); ++id) EXPECT_EQ(loaded.id(saved.token(id)), id);
    EXPECT_EQ(Vocabulary::from_text(saved.to_text(), "x"), saved);
  }
  EXPECT_EQ(Vocabulary::of_characters(Texts{"a\n\\\r"}).to_text(),
            "characters\n[PAD]\n[UNK]\n[CLS]\n[MASK]\na\n\\n\n\\\\\n\\r\n");
}

TEST(Vocabulary, RefusesOtherText) {
  const std::string special = "[PAD]\n[UNK]\n[CLS]\n[MASK]\n";
  const auto error = [](const std::string& text) {
    return file_error([&] { Vocabulary::from_text(text, "v"); });
  };
  EXPECT_EQ(error(""), "v: line 1: the text ends, cut short");
  EXPECT_EQ(error("vocab\n"), "v: line 1: wanted 'words' or 'characters', got 'vocab'");
  EXPECT_EQ(error("words\n[PAD]\n[UNK]\nthe\n"), "v: line 4: wanted [CLS], got 'the'");
  EXPECT_EQ(error("words\n" + special + "a\nb"), "v: line 7: the text ends, cut short");
  EXPECT_EQ(error("words\n" + special + "a\na\n"), "v: line 7: 'a' stands here twice");
  for (const std::string token : {"two words", "Upper", "", "a.b", "\\x", "\\", "\xff"}) {
    EXPECT_NE(error("words\n" + special + token + "\n").find("v: line 6: "), std::string::npos);
  }
  for (const std::string token : {"ab", "", "\xc3"}) {
    EXPECT_NE(error("characters\n" + special + token + "\n").find("is not one of the characters"),
              std::string::npos);
  }
}

}  // namespace
}  // namespace tessera::text
