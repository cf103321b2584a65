#include "tessera/models/text/vocabulary.h"

#include "tessera/tensor/io/json.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::text {
namespace {

using namespace test;
using Ids = std::vector<index_t>;
using Texts = std::vector<std::string>;

Texts tokens_of(const Vocabulary& vocabulary) {
  Texts tokens;
  for (index_t id = 0; id < vocabulary.size(); ++id) tokens.emplace_back(vocabulary.token(id));
  return tokens;
}

TokenCounts counted(const Texts& tokens) {
  TokenCounts counts;
  for (const std::string& token : tokens) counts.add(token);
  return counts;
}

TEST(TokenList, RefusesNegativeIds) {
  TokenList tokens = {"a"};
  EXPECT_TRUE(throws("TokenList", {"id must be at least 0, got -1"}, [&] { tokens.set(-1, "b"); }));
  EXPECT_EQ(tokens, TokenList{"a"});
}

TEST(Vocabulary, HoldsAsManyTokensAsItHasRoomFor) {
  Vocabulary none(TokenList{});
  EXPECT_TRUE(
      throws("Vocabulary", {"must have at most 0 tokens", "got 1"}, [&] { none.set(0, "a"); }));
  EXPECT_EQ(none.find("b"), std::nullopt);
  Vocabulary three({"a", "b"}, {}, 1);
  three.set(2, "c");
  three.set(3, "c");  // not a new token
  EXPECT_EQ(three.find("c"), 3);
  EXPECT_EQ(three.token(2), "");  // free again
  EXPECT_TRUE(
      throws("Vocabulary", {"must have at most 3 tokens", "got 4"}, [&] { three.set(4, "d"); }));
  EXPECT_EQ(three.find("d"), std::nullopt);
  EXPECT_TRUE(throws("Vocabulary", {"id must be at least 0, got -1"}, [&] { three.set(-1, "a"); }));
  EXPECT_TRUE(throws("Vocabulary", {"id must be free, got 1"}, [&] { three.set(1, "c"); }));
  EXPECT_TRUE(throws("Vocabulary", {"id must be below 2147483647, got 4294967296"},
                     [&] { three.set(index_t{1} << 32, "c"); }));
  for (const TokenList& list : {TokenList(), TokenList{"a"}}) {
    EXPECT_TRUE(
        throws("Vocabulary", {"at least 0 tokens, got -1"}, [&] { Vocabulary(list, {}, -1); }));
  }
}

TEST(SpecialTokens, AreWhatIsThere) {
  EXPECT_TRUE(SpecialTokens().ids().empty());
  EXPECT_FALSE(SpecialTokens().contains(0));
  const SpecialTokens bert = {.pad = 0, .unknown = 100, .cls = 101, .sep = 102, .mask = 103};
  EXPECT_EQ(bert.ids(), (Ids{0, 100, 101, 102, 103}));
  for (const index_t id : bert.ids()) EXPECT_TRUE(bert.contains(id)) << id;
  for (const index_t id : {-1, 1, 99, 104}) EXPECT_FALSE(bert.contains(id)) << id;
  const SpecialTokens shared = {.cls = 7, .sep = 7, .mask = 3};
  EXPECT_EQ(shared.ids(), (Ids{3, 7}));
  EXPECT_NE(shared, (SpecialTokens{.cls = 7, .mask = 3}));
}

TEST(Vocabulary, IsAListAndItsInverse) {
  const Vocabulary bert({"[PAD]", "a", "[UNK]", ""}, {.pad = 0, .unknown = 2});
  EXPECT_EQ(bert.size(), 4);
  EXPECT_EQ(bert.special(), (SpecialTokens{.pad = 0, .unknown = 2}));
  for (index_t id = 0; id < 3; ++id) EXPECT_EQ(bert.find(bert.token(id)), id);
  EXPECT_EQ(bert.find(""), std::nullopt);  // the number 3 is free
  EXPECT_EQ(bert.token(3), "");
  EXPECT_EQ(Vocabulary({"", "a", "", ""}, {}).find("a"), 1);
  EXPECT_EQ(bert.id("a"), 1);
  EXPECT_EQ(bert.id("b"), 2);
  EXPECT_EQ(bert.find("b"), std::nullopt);
  EXPECT_EQ(bert, Vocabulary({"[PAD]", "a", "[UNK]", ""}, {.pad = 0, .unknown = 2}));
  EXPECT_FALSE(bert == Vocabulary({"[PAD]", "a", "[UNK]", ""}, {.pad = 0}));
  EXPECT_FALSE(bert == Vocabulary({"[PAD]", "b", "[UNK]", ""}, {.pad = 0, .unknown = 2}));
}

TEST(Vocabulary, RefusesWhatHasNoNumberAndNoToken) {
  const Vocabulary plain({"a", "b"}, {});
  EXPECT_TRUE(throws("Vocabulary", {"must have an unknown token or 'c', got neither"},
                     [&] { (void)plain.id("c"); }));
  EXPECT_TRUE(throws("Vocabulary", {"below 2, got 2"}, [&] { (void)plain.token(2); }));
  EXPECT_TRUE(throws("Vocabulary", {"-1"}, [&] { (void)plain.token(-1); }));
  EXPECT_TRUE(throws("Vocabulary", {"'a' as 0 and 2"}, [] { Vocabulary({"a", "b", "a"}, {}); }));
  EXPECT_TRUE(throws("Vocabulary", {"at least 0 and below 2, got 2"}, [] {
    Vocabulary({"a", "b"}, {.mask = 2});
  }));
  EXPECT_TRUE(throws("Vocabulary", {"-1"}, [] { Vocabulary({"a"}, {.cls = -1}); }));
}

TEST(TokenCounts, OrderByCountThenByFirstAppearance) {
  const TokenCounts counts = counted({"z", "b", "a", "b", "c", "z", "b"});
  const Vocabulary all = counts.vocabulary({});
  EXPECT_EQ(tokens_of(all), (Texts{"[PAD]", "[UNK]", "[CLS]", "[MASK]", "b", "z", "a", "c"}));
  EXPECT_EQ(all.special(), (SpecialTokens{.pad = 0, .unknown = 1, .cls = 2, .mask = 3}));
  const auto rest = [&](const VocabularyOptions& options) {
    Texts tokens = tokens_of(counts.vocabulary(options));
    tokens.erase(tokens.begin(), tokens.begin() + 4);
    return tokens;
  };
  EXPECT_EQ(rest({.min_count = 2}), (Texts{"b", "z"}));
  EXPECT_EQ(rest({.max_size = 7}), (Texts{"b", "z", "a"}));
  EXPECT_EQ(rest({.max_size = 4}), Texts{});
  EXPECT_EQ(rest({.max_size = 6, .sep = true}), (Texts{"[SEP]", "b"}));
  const SpecialTokens five = {.pad = 0, .unknown = 1, .cls = 2, .sep = 4, .mask = 3};
  EXPECT_EQ(counts.vocabulary({.sep = true}).special(), five);
}

TEST(TokenCounts, RefuseImpossibleOptions) {
  const TokenCounts none;
  EXPECT_TRUE(throws("Vocabulary", {"min_count"}, [&] { none.vocabulary({.min_count = 0}); }));
  EXPECT_TRUE(throws("Vocabulary", {"max_size", "at least 4, got 3"},
                     [&] { none.vocabulary({.max_size = 3}); }));
  EXPECT_TRUE(throws("Vocabulary", {"max_size", "at least 5, got 4"},
                     [&] { none.vocabulary({.max_size = 4, .sep = true}); }));
}

TEST(VocabularyText, GivesTheSameBack) {
  Texts every = {"\\n is a Word\\", "", " ", "\xc3\xa9", "\xf0\x9f\x98\x80"};
  for (int code = 0; code < 0x80; ++code) every.emplace_back(1, static_cast<char>(code));
  for (const bool sep : {false, true}) {
    const Vocabulary saved = counted(every).vocabulary({.sep = sep});
    const std::string text = vocabulary_to_text("any", saved);
    const Vocabulary loaded =
        vocabulary_from_json(parse_json(text, "v"), [](std::string_view) { return true; });
    EXPECT_EQ(loaded, saved);
  }
  EXPECT_EQ(vocabulary_to_text("any", counted({"a\n\\\r"}).vocabulary({})),
            R"({"type":"any","vocab":["[PAD]","[UNK]","[CLS]","[MASK]","a\n\\\r"]})"
            "\n");
}

TEST(VocabularyText, RefusesOtherText) {
  const auto error = [](const std::string& tokens) {
    return file_error([&] {
      vocabulary_from_json(parse_json("{\"vocab\":" + tokens + "}", "v"),
                           [](std::string_view t) { return t != "bad"; });
    });
  };
  const std::string four = R"(["[PAD]","[UNK]","[CLS]","[MASK]")";
  EXPECT_EQ(error("7"), "v: vocab: must be a list, got 7");
  EXPECT_EQ(error("[]"), "v: vocab: must have at least 4 tokens, got 0");
  EXPECT_EQ(error(R"(["[PAD]","[UNK]","the","a"])"),
            "v: vocab[2]: must be [CLS], got the text 'the'");
  EXPECT_EQ(error(R"(["[PAD]","[UNK]","the","a","[SEP]"])"),
            "v: vocab[2]: must be [CLS], got the text 'the'");
  EXPECT_EQ(error(four + ",8]"), "v: vocab[4]: must be a text, got 8");
  for (const std::string more : {",\"a\",\"a\"]", ",\"[SEP]\",\"a\",\"a\"]"}) {
    EXPECT_TRUE(
        contains(error(four + more), "v: vocab: Vocabulary: tokens must be different, got"));
  }
  EXPECT_EQ(error(four + ",\"bad\"]"),
            "v: vocab[4]: must be a token that a text can have, got the text 'bad'");
}

}  // namespace
}  // namespace tessera::text
