#include "tessera/models/text/character_tokenizer.h"

#include "tessera/tensor/io/json.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::text {
namespace {

using namespace test;
using Ids = std::vector<index_t>;
using Texts = std::vector<std::string>;

TEST(SplitCharacters, CutsAtCodePoints) {
  EXPECT_EQ(split_characters("a\n\xc3\xa9\xf0\x9f\x98\x80"),
            (Texts{"a", "\n", "\xc3\xa9", "\xf0\x9f\x98\x80"}));
  EXPECT_TRUE(
      test::throws("split_characters", {"byte 1", "\\xff"}, [] { split_characters("a\xff"); }));
}

TEST(CharacterTokenizer, EncodesAndDecodes) {
  const auto characters = CharacterTokenizer::of(Texts{"ab\n"});
  const std::string text = "b\xe2\x82\xac\n";
  const Encoding e = characters.encode(text);
  EXPECT_EQ(e.ids, (Ids{2, 5, 1, 6}));
  EXPECT_EQ(e.offsets, (std::vector<Span>{{0, 0}, {0, 1}, {1, 4}, {4, 5}}));
  const EncodeOptions plain = {.add_special_tokens = false};
  EXPECT_EQ(characters.decode(characters.encode("ab\na", plain).ids), "ab\na");
  EXPECT_EQ(CharacterTokenizer::of(Texts{"no\xc3\xb6n\n"}).decode(Ids{4, 5, 6, 7}), "no\xc3\xb6\n");
  EXPECT_TRUE(throws("Vocabulary", {"-1"}, [&] { (void)characters.decode(Ids{-1}); }));
  EXPECT_TRUE(
      throws("split_characters", {"byte 2"}, [] { CharacterTokenizer::of(Texts{"ab\xff"}); }));
}

TEST(CharacterTokenizer, OffsetsCoverTheText) {
  std::string text;
  for (int code = 0; code < 0x80; ++code) text += static_cast<char>(code);
  text += "\xc2\x80\xdf\xbf\xe0\xa0\x80\xed\x9f\xbf\xee\x80\x80\xf0\x90\x80\x80\xf4\x8f\xbf\xbf";
  const auto characters = CharacterTokenizer::of(Texts{text});
  const Encoding e = characters.encode(text, {.add_special_tokens = false});
  EXPECT_EQ(e.ids.size(), 0x80u + 7);
  index_t end = 0;
  for (std::size_t i = 0; i < e.ids.size(); ++i) {
    EXPECT_EQ(e.offsets[i].begin, end);
    end = e.offsets[i].end;
    EXPECT_EQ(text.substr(static_cast<std::size_t>(e.offsets[i].begin),
                          static_cast<std::size_t>(end - e.offsets[i].begin)),
              characters.token(e.ids[i]));
  }
  EXPECT_EQ(end, std::ssize(text));
}

TEST(CharacterTokenizer, IsTheSameAfterItsText) {
  Texts every = {"\xc3\xa9", "\xe2\x82\xac", "\xef\xbb\xbf", "\xf0\x9f\x98\x80"};
  for (int code = 0; code < 0x80; ++code) every.emplace_back(1, static_cast<char>(code));
  for (const bool sep : {false, true}) {
    const auto saved = CharacterTokenizer::of(every, {.sep = sep});
    const auto loaded = CharacterTokenizer::from_json(parse_json(saved.to_text(), "x"));
    EXPECT_EQ(loaded.vocabulary(), saved.vocabulary());
  }
  const std::string start = R"({"type":"characters","vocab":["[PAD]","[UNK]","[CLS]","[MASK]",)";
  EXPECT_EQ(CharacterTokenizer::of(Texts{"a\n\\\r"}).to_text(),
            start + R"("a","\n","\\","\r"]})" + "\n");
  for (const std::string token : {"ab", "", "\xc3\xa9t"}) {
    EXPECT_EQ(file_error([&] {
                CharacterTokenizer::from_json(parse_json(start + '"' + token + "\"]}", "v"));
              }),
              "v: vocab[4]: must be a token that a text can have, got the text '" + token + "'");
  }
}

}  // namespace
}  // namespace tessera::text
