#include "tessera/models/text/tokenizers.h"

#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::text {
namespace {

using namespace test;
using Ids = std::vector<index_t>;
using Texts = std::vector<std::string>;

TEST(Tokenizers, AreChosenByName) {
  EXPECT_EQ(tokenizer_kinds(), (Texts{"words", "characters", "wordpiece"}));
  const Texts texts = {"Ab ab"};
  EXPECT_EQ(make_tokenizer("words", texts)->encode("ab").ids, (Ids{2, 4}));
  EXPECT_EQ(make_tokenizer("characters", texts)->encode("ab").ids, (Ids{2, 7, 4}));
  EXPECT_EQ(make_tokenizer("words", texts, {.sep = true})->encode("ab").ids, (Ids{2, 5, 4}));
  EXPECT_TRUE(test::throws("make_tokenizer",
                           {"'words', 'characters' or 'wordpiece'", "got 'letters'"},
                           [&] { make_tokenizer("letters", texts); }));
}

TEST(Tokenizers, AreLearned) {
  const Texts texts = {"Low lower lowest,", "low LOW newer", "newest widest"};
  const auto pieces = make_tokenizer("wordpiece", texts, {.max_size = 40});
  EXPECT_EQ(pieces->special(),
            (SpecialTokens{.pad = 0, .unknown = 1, .cls = 2, .sep = 3, .mask = 4}));
  EXPECT_LE(pieces->size(), 40);
  const Encoding low = pieces->encode("lowest LOW?");
  EXPECT_EQ(pieces->decode_text(std::span(low.ids).first(low.ids.size() - 2)), "lowest low");
  EXPECT_EQ(low.ids[low.ids.size() - 2], 1);  // ? is not in the texts
  EXPECT_EQ(low.ids.back(), 3);
  EXPECT_EQ(pieces->encode_pair("low", "low").type_ids, (Ids{0, 0, 0, 1, 1}));
  const auto whole = make_tokenizer("wordpiece", texts);  // learns until each word is one token
  EXPECT_EQ(whole->encode("newest low").ids.size(), 4u);
  EXPECT_GT(whole->size(), make_tokenizer("wordpiece", texts, {.min_count = 3})->size());
  EXPECT_TRUE(test::throws("train", {"must be UTF-8"},
                           [&] { make_tokenizer("wordpiece", Texts{"\xff"}); }));
}

TEST(Tokenizers, AreTheSameAfterSavingAndLoading) {
  const TemporaryFolder folder;
  const Texts texts = {"The cat\r\nsat \\ \xc3\xa9."};
  for (const std::string& kind : tokenizer_kinds()) {
    const auto saved = make_tokenizer(kind, texts);
    saved->save(folder.path() / "t");
    const auto loaded = load_tokenizer(folder.path() / "t");
    EXPECT_EQ(loaded->vocabulary(), saved->vocabulary()) << kind;
    EXPECT_EQ(loaded->to_text(), saved->to_text()) << kind;
    EXPECT_EQ(loaded->encode(texts[0]).ids, saved->encode(texts[0]).ids) << kind;
  }
}

// vocabulary_test.cpp has the other errors.
TEST(Tokenizers, RefuseOtherText) {
  const auto error = [](const std::string& text) {
    return file_error([&] { tokenizer_from_text(text, "v"); });
  };
  EXPECT_TRUE(error("").starts_with("v: "));
  EXPECT_TRUE(error("words\n[PAD]\n[UNK]\n").starts_with("v: "));
  for (const std::string kind : {"vocab", "wordpiece"}) {
    EXPECT_EQ(error(R"({"type":")" + kind + "\"}"),
              "v: type: must be 'words' or 'characters', got the text '" + kind + "'");
  }
  EXPECT_EQ(error(R"({"type":"words"})"), "v: must have a value for 'vocab'");
  EXPECT_EQ(error(R"({"type":"characters","vocab":["[PAD]","[UNK]","the","a"]})"),
            "v: vocab[2]: must be [CLS], got the text 'the'");
}

}  // namespace
}  // namespace tessera::text
