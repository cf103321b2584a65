#include "tessera/models/text/detail/byte_level.h"
#include "tessera/models/text/tokenizers.h"
#include "tessera/tensor/error.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::text {
namespace {

using namespace test;
using Ids = std::vector<index_t>;

/// A tokenizer of whole words, with some parts of its tokenizer.json replaced by these.
std::unique_ptr<Tokenizer> words(const std::map<std::string, std::string>& replaced = {}) {
  std::map<std::string, std::string> parts = replaced;
  parts.insert({{"added_tokens", R"([{"id":4,"content":"[SEP]","special":true,"normalized":false},
                            {"id":7,"content":"new","special":false,"normalized":false}])"},
                {"pre_tokenizer", R"({"type":"Whitespace"})"},
                {"model", R"({"type":"WordLevel","unk_token":"?",
           "vocab":{"?":0,"a":1,"b":2,"[":3,"[SEP]":4,"SEP":5,"]":6}})"}});
  std::string text;
  for (const auto& [key, value] : parts) {
    text += (text.empty() ? "{\"" : ",\"") + key + "\":" + value;
  }
  return tokenizer_from_text(text + "}", "file");
}

TEST(PipelineTokenizer, FindsAddedTokensUnlessTheyAreToBeText) {
  const auto tokenizer = words();
  EXPECT_EQ(tokenizer->encode("a[SEP] b new").ids, (Ids{1, 4, 2, 7}));
  // Only special tokens can be ordinary text; other added tokens are meant for texts.
  const EncodeOptions plain{.split_special_tokens = true};
  EXPECT_EQ(tokenizer->encode("a[SEP] b new", plain).ids, (Ids{1, 3, 5, 6, 2, 7}));
  EXPECT_EQ(tokenizer->encode("a[SEP] b new").word_ids, (Ids{0, 1, 2, 3}));
  EXPECT_TRUE(tokenizer->is_special(4));
  EXPECT_FALSE(tokenizer->is_special(7));
  const Ids ids = {1, 4, 7};
  EXPECT_EQ(tokenizer->decode(ids), "a [SEP] new");
  EXPECT_EQ(tokenizer->decode_text(ids), "a new");
  EXPECT_TRUE(
      throws("Vocabulary", {"token ids must be", "got 8"}, [&] { tokenizer->decode(Ids{8}); }));
}

TEST(PipelineTokenizer, LeavesNumbersFree) {
  const auto tokenizer = words({{"model", R"({"type":"WordLevel","unk_token":"?",
           "vocab":{"?":0,"a":1,"b":2,"[SEP]":4,"c":9}})"}});
  EXPECT_EQ(tokenizer->size(), 10);
  EXPECT_EQ(tokenizer->token(8), "");
  EXPECT_EQ(tokenizer->vocabulary().find(""), std::nullopt);
  EXPECT_EQ(tokenizer->special(), (SpecialTokens{.unknown = 0, .sep = 4}));
  EXPECT_EQ(tokenizer->encode("c new").ids, (Ids{9, 5}));  // the model has 5 tokens
  EXPECT_EQ(tokenizer->decode(Ids{9, 8, 5}), "c new");     // the number 8 is free
}

/// Results of the tokenizers library (0.23.2), which does not read the numbers in the file.
TEST(PipelineTokenizer, NumbersAddedTokensAsTheLibraryDoes) {
  const auto ids = [](const std::string& added, const std::string& vocabulary,
                      const std::string& text) {
    return words({{"added_tokens", "[" + added + "]"},
                  {"model", R"({"type":"WordLevel","unk_token":"?","vocab":{"?":0,"a":1,)" +
                                vocabulary + "}}"},
                  {"pre_tokenizer", R"({"type":"WhitespaceSplit"})"}})
        ->encode(text)
        .ids;
  };
  const std::string b = R"({"id":4,"content":"b"})";
  const std::string two = R"({"id":7,"content":"N1"},{"id":7,"content":"N2"})";
  EXPECT_EQ(ids(two, R"("b":2)", "a N1 b N2"), (Ids{1, 3, 2, 4}));
  EXPECT_EQ(ids(two, R"("b":3)", "a N1 N2 b"), (Ids{1, 3, 4, 3}));  // a gap: two have 3
  EXPECT_EQ(ids(b + "," + two, R"("b":7)", "a N1 N2 b"), (Ids{1, 3, 4, 7}));
  EXPECT_EQ(ids(b + R"(,{"id":1,"content":"N1"},{"id":0,"content":""},{"id":9,"content":"N2"})",
                R"("b":3,"z":6)", "a N1 b N2 z"),
            (Ids{1, 4, 3, 5, 6}));
  EXPECT_EQ(ids(R"({"id":2,"content":"N1"},{"id":3,"content":"N1"},{"id":4,"content":"N2"})",
                R"("b":2)", "N1 N2"),
            (Ids{3, 4}));
}

/// Results of the tokenizers library (0.23.2).
TEST(PipelineTokenizer, TakesTheLastOfEqualAddedTokens) {
  const auto span = [](const std::string& first, const std::string& second,
                       const std::string& text) {
    const auto token = [](const std::string& flags) {
      return R"({"id":7,"content":"<X>",)" + flags + "}";
    };
    const Encoding e = words({{"added_tokens", "[" + token(first) + "," + token(second) + "]"},
                              {"normalizer", R"({"type":"Lowercase"})"},
                              {"pre_tokenizer", R"({"type":"WhitespaceSplit"})"}})
                           ->encode(text);
    return str_cat(e.ids[1], ':', e.offsets[1].begin, '-', e.offsets[1].end);
  };
  const std::string given = R"("normalized":false)";
  const std::string strips = R"("normalized":true,"lstrip":true)";
  for (const std::string special : {R"("special":true,)", R"("special":false,)"}) {
    EXPECT_EQ(span(special + given, special + strips, "a <x> b"), "7:1-5");
    EXPECT_EQ(span(special + strips, special + given, "a <x> b"), "0:2-5");
    EXPECT_EQ(span(special + strips, special + given, "a <X> b"), "7:2-5");
  }
}

TEST(PipelineTokenizer, KnowsPairsWithoutAPostProcessor) {
  const Encoding pair = words()->encode_pair("a", "b a");
  EXPECT_EQ(pair.ids, (Ids{1, 2, 1}));
  EXPECT_EQ(pair.type_ids, (Ids{0, 1, 1}));
  EXPECT_EQ(pair.word_ids, (Ids{0, 0, 1}));
}

TEST(PipelineTokenizer, SaysWhatIsWrongWithAFile) {
  const std::string bert = R"({"type":"BertProcessing","sep":["[SEP]",4],"cls":["a",1]})";
  const std::string a = R"({"Sequence":{"id":"A","type_id":0}})";
  const auto around = [](const std::string& single, const std::string& special = "") {
    return R"({"type":"TemplateProcessing","pair":[],"single":[)" + single +
           R"(],"special_tokens":{)" + special + "}}";
  };
  std::string many = a, ids = "4";  // 40 times 40 tokens around a text
  for (int i = 0; i < 40; ++i) {
    many += R"(,{"SpecialToken":{"id":"x","type_id":0}})";
    ids += i > 0 ? ",4" : "";
  }
  const std::vector<std::array<std::string, 3>> faults = {
      {"added_tokens", R"([{"content":"new"}])", "file: added_tokens[0]: must have...'id'"},
      {"added_tokens", R"([{"id":-1,"content":"x"}])", "added_tokens[0].id...-1"},
      {"added_tokens", R"([{"id":7,"content":")" + std::string(1001, 'x') + R"("}])",
       "added_tokens[0].content...1000 bytes...1001"},
      {"added_tokens", R"([{"id":7}])", "added_tokens[0]...content"},
      {"model", R"({"type":"Brain"})", "model...'Brain'"},
      {"model", "null", "model"},
      {"model", R"({"type":"Unigram","unk_id":0,"vocab":[["?",0],["a",-1],["a",-2]]})",
       "file: model...tokens must be different, got 'a' as 1 and 2"},
      {"normalizer", R"({"type":"Polish"})", "normalizer...'Polish'"},
      {"pre_tokenizer", R"({"type":"Scissors"})", "pre_tokenizer...'Scissors'"},
      {"decoder", R"({"type":"Enigma"})", "decoder.type...'Enigma'"},
      {"post_processor", R"({"type":"Wrap"})", "post_processor.type...'Wrap'"},
      {"post_processor", R"({"type":"BertProcessing","sep":["[SEP]",4],"cls":["a",10]})",
       "post_processor.cls[1]...10"},
      {"post_processor", around(R"({"Sequence":{"id":"B","type_id":0}})"),
       "post_processor.single[0].Sequence...'B'"},
      {"post_processor", around(""), "post_processor.single...each text once"},
      {"post_processor", around(a + "," + a), "each text once"},
      {"post_processor", R"({"type":"Sequence","processors":[)" + bert + "," + bert + "]}",
       "processors[1]"},
      {"post_processor", around(many, R"("x":{"ids":[)" + ids + "]}"),
       "at most 1000 tokens around texts"}};
  for (const auto& [part, text, says] : faults) {
    expect_refused([&, &key = part, &value = text] { words({{key, value}}); }, says);
  }
}

TEST(PipelineTokenizer, TakesManyAddedTokensInLinearTime) {
  // 2,000 tokens with a common beginning, in a text that is the beginning of all.
  std::string list;
  for (int i = 0; i < 2000; ++i) {
    list += str_cat(i > 0 ? "," : "", R"({"id":)", 10 + i, R"(,"content":"aaaa)", i, R"(x"})");
  }
  const auto tokenizer = words(
      {{"added_tokens", "[" + list + "]"}, {"pre_tokenizer", R"({"type":"WhitespaceSplit"})"}});
  EXPECT_EQ(tokenizer->encode(std::string(200'000, 'a')).ids, (Ids{0}));
  EXPECT_EQ(tokenizer->encode("aaaaa7x").ids, (Ids{1, 14}));
}

/// Results of the tokenizers library (0.23.2), which crashes for the last one.
TEST(PipelineTokenizer, WhiteSpaceThatATokenTakesAlongIsNoTokenMore) {
  const auto spans = [](const std::string& tokens, const std::string& text) {
    const Encoding e = words({{"added_tokens", tokens}, {"pre_tokenizer", "null"}})->encode(text);
    std::string all;
    for (std::size_t i = 0; i < e.ids.size(); ++i) {
      all += str_cat(e.ids[i], ':', e.offsets[i].begin, '-', e.offsets[i].end, ' ');
    }
    return all;
  };
  const std::string both = R"([{"id":7,"content":"  ","lstrip":true,"rstrip":true}])";
  const std::string right = R"([{"id":7,"content":"  ","rstrip":true}])";
  const std::string two =
      R"([{"id":7,"content":"x","rstrip":true},{"id":8,"content":" ","lstrip":true}])";
  EXPECT_EQ(spans(both, "a      b"), "1:0-1 7:1-7 2:7-8 ");
  EXPECT_EQ(spans(right, "a      b"), "1:0-1 7:1-7 7:3-7 7:5-7 2:7-8 ");
  EXPECT_EQ(spans(two, "x   b"), "7:0-4 2:4-5 ");
  for (const std::string& tokens : {both, right}) {  // in linear time
    EXPECT_NE(spans(tokens, std::string(200'000, ' ')), "");
  }
}

/// As in the tokenizers library (0.23.2), if both texts are too long they are compared up to the
/// end of the word that reaches max_length.
TEST(PipelineTokenizer, ComparesLongTextsByWholeWords) {
  const std::string model =
      R"({"type":"WordPiece","unk_token":"?","vocab":{"?":0,"a":1,"##b":2,"c":3}})";
  const auto tokenizer = words({{"added_tokens", "[]"},
                                {"pre_tokenizer", R"({"type":"WhitespaceSplit"})"},
                                {"model", model}});
  const EncodeOptions five{.max_length = 5};
  EXPECT_EQ(tokenizer->encode_pair("a a a a a a", "c c c c c").sequence_ids,
            (Ids{0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1}));
  EXPECT_EQ(tokenizer->encode_pair("a a a a a a", "c c c c c", five).sequence_ids,
            (Ids{0, 0, 1, 1, 1}));
  EXPECT_EQ(tokenizer->encode_pair("abbbbbb a", "c c c c c", five).sequence_ids,
            (Ids{0, 0, 0, 1, 1}));
}

TEST(PipelineTokenizer, TrimsSeveralSpacesOffTheFirstTokenButNotOne) {
  const auto tokenizer = words(
      {{"added_tokens", R"([{"id":7,"content":"x","lstrip":true}])"},
       {"post_processor", R"({"type":"ByteLevel","add_prefix_space":true,"trim_offsets":true})"}});
  EXPECT_EQ(tokenizer->encode(" x").offsets, (std::vector<Span>{{0, 2}}));
  EXPECT_EQ(tokenizer->encode("  x").offsets, (std::vector<Span>{{2, 3}}));
  EXPECT_EQ(tokenizer->encode("   x").offsets, (std::vector<Span>{{3, 4}}));
}

TEST(ByteCharacters, AreABijection) {
  std::string all;
  for (int byte = 0; byte < 256; ++byte) {
    const auto c = static_cast<unsigned char>(byte);
    const std::string_view character = character_of_byte(c);
    EXPECT_EQ(bytes_of_characters(character), std::string(1, static_cast<char>(c)));
    all += character;
  }
  EXPECT_EQ(bytes_of_characters(all)->size(), 256U);
  EXPECT_EQ(character_of_byte(' '), "\xc4\xa0");   // U+0120
  EXPECT_EQ(character_of_byte(0x7f), "\xc4\xa1");  // U+0121
  EXPECT_EQ(character_of_byte(0xad), "\xc5\x83");  // U+0143
  EXPECT_EQ(character_of_byte(0xac), "\xc2\xac");
  for (const char* none : {" ", "\n", "\xc5\x84", "\xe4\xb8\xad", "\xf0\x9f\x98\x80"}) {
    EXPECT_EQ(bytes_of_characters(none), std::nullopt) << none;
  }
}

TEST(Decoder, MarksBytesThatAreNoText) {
  const auto tokenizer = words(
      {{"added_tokens", "[]"},
       {"decoder", R"({"type":"ByteLevel"})"},
       {"model",
        R"({"type":"WordLevel","unk_token":"a","vocab":{"a":0,"ð":1,"Ł":2,"ĺ":3,"Ģ":4,"à":5}})"}});
  const std::string mark = "\xef\xbf\xbd";
  const auto decoded = [&](const Ids& ids) { return tokenizer->decode(ids); };
  EXPECT_EQ(decoded({1, 2, 3, 4}), "\xf0\x9f\x98\x80");
  EXPECT_EQ(decoded({0, 1, 2, 3, 0}), "a" + mark + "a");  // one mark for an incomplete character
  EXPECT_EQ(decoded({4, 4, 1, 1, 0}), mark + mark + mark + mark + "a");
  EXPECT_EQ(decoded({5, 4, 0}), mark + mark + "a");  // E0 80 begins nothing
  EXPECT_EQ(decoded({1, 2}), mark);
}

}  // namespace
}  // namespace tessera::text
