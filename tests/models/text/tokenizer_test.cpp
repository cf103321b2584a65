#include "tessera/models/text/tokenizer.h"

#include "tessera/models/text/character_tokenizer.h"
#include "tessera/models/text/word_tokenizer.h"
#include "tessera/tensor/error.h"
#include "tests/support/test.h"

namespace tessera::text {
namespace {

using test::throws;
using Ids = std::vector<index_t>;
using Texts = std::vector<std::string>;

/// A tokenizer defined by a user: bytes as numbers, without special tokens.
class ByteTokenizer final : public Tokenizer {
 public:
  explicit ByteTokenizer(const SpecialTokens& special = {})
      : Tokenizer(Vocabulary(bytes(), special)) {}
  explicit ByteTokenizer(const Frame& frame) : Tokenizer(Vocabulary(bytes(), {}), frame) {}

  std::string decode(std::span<const index_t> ids) const override {
    std::string text;
    for (const index_t id : ids) text += token(id);
    return text;
  }
  std::string to_text() const override { return "bytes\n"; }

 private:
  static Texts bytes() {
    Texts tokens;
    for (int byte = 0; byte < 256; ++byte) tokens.emplace_back(1, static_cast<char>(byte));
    return tokens;
  }
  std::vector<Piece> split(std::string_view text) const override {
    std::vector<Piece> pieces;
    for (const char c : text) {
      const index_t at = std::ssize(pieces);
      pieces.push_back({static_cast<unsigned char>(c), {at, at + 1}});
    }
    return pieces;
  }
};

constexpr index_t kNo = kNoText;
const SpecialTokens kBert = {.pad = 0, .unknown = 1, .cls = 2, .sep = 4, .mask = 3};

TEST(Encode, PutsTheSpecialTokensAroundTheText) {
  const ByteTokenizer bert(kBert);
  const Encoding e = bert.encode("ab");
  EXPECT_EQ(e.ids, (Ids{2, 'a', 'b', 4}));
  EXPECT_EQ(e.offsets, (std::vector<Span>{{0, 0}, {0, 1}, {1, 2}, {0, 0}}));
  EXPECT_EQ(e.type_ids, (Ids{0, 0, 0, 0}));
  EXPECT_EQ(e.sequence_ids, (Ids{kNo, 0, 0, kNo}));
  EXPECT_EQ(bert.encode("ab", {.add_special_tokens = false}).ids, (Ids{'a', 'b'}));
  EXPECT_EQ(bert.encode("").ids, (Ids{2, 4}));
  EXPECT_EQ(ByteTokenizer().encode("ab").ids, (Ids{'a', 'b'}));
  EXPECT_EQ(ByteTokenizer({.cls = 7}).encode("ab").ids, (Ids{7, 'a', 'b'}));
  EXPECT_EQ(ByteTokenizer({.sep = 7}).encode("ab").ids, (Ids{'a', 'b', 7}));
}

TEST(EncodePair, TellsTheTextsApart) {
  const Encoding e = ByteTokenizer(kBert).encode_pair("ab", "c");
  EXPECT_EQ(e.ids, (Ids{2, 'a', 'b', 4, 'c', 4}));
  EXPECT_EQ(e.offsets, (std::vector<Span>{{0, 0}, {0, 1}, {1, 2}, {0, 0}, {0, 1}, {0, 0}}));
  EXPECT_EQ(e.type_ids, (Ids{0, 0, 0, 0, 1, 1}));
  EXPECT_EQ(e.sequence_ids, (Ids{kNo, 0, 0, kNo, 1, kNo}));
  const Encoding plain = ByteTokenizer(kBert).encode_pair("ab", "c", {.add_special_tokens = false});
  EXPECT_EQ(plain.ids, (Ids{'a', 'b', 'c'}));
  EXPECT_EQ(plain.type_ids, (Ids{0, 0, 1}));
  EXPECT_EQ(ByteTokenizer({.sep = 7}).encode_pair("", "c").ids, (Ids{7, 'c', 7}));
  // Real ones support pairs if their vocabulary has a [SEP].
  const Texts texts = {"The cat."};
  EXPECT_EQ(WordTokenizer::of(texts, {.sep = true}).encode_pair("the", "cat").ids,
            (Ids{2, 5, 4, 6, 4}));
  EXPECT_TRUE(throws("encode_pair", {"must have a [SEP]"},
                     [&] { WordTokenizer::of(texts).encode_pair("the", "cat"); }));
  EXPECT_TRUE(throws("encode_pair", {"must have a [SEP]"},
                     [] { ByteTokenizer({.cls = 7}).encode_pair("a", "b"); }));
}

TEST(EncodePair, FollowsAnyLayout) {
  // RoBERTa's: <s> A </s> </s> B </s>, all of one type.
  const Frame roberta = {
      .single = {{kNo, 0, 0}, {0, 0}, {kNo, 0, 2}},
      .pair = {{kNo, 0, 0}, {0, 0}, {kNo, 0, 2}, {kNo, 0, 2}, {1, 0}, {kNo, 0, 2}}};
  const Encoding e = ByteTokenizer(roberta).encode_pair("ab", "c", {.max_length = 6});
  EXPECT_EQ(e.ids, (Ids{0, 'a', 2, 2, 'c', 2}));
  EXPECT_EQ(e.type_ids, Ids(6, 0));
  EXPECT_EQ(e.sequence_ids, (Ids{kNo, 0, kNo, kNo, 1, kNo}));
}

TEST(Tokenizer, RefusesALayoutThatIsNone) {
  const auto refuses = [](const Frame& frame, const char* words) {
    return throws("Tokenizer", {words}, [&] { ByteTokenizer{frame}; });
  };
  EXPECT_TRUE(
      refuses({.single = {{0, 0}, {1, 0}}, .pair = {}}, "1 text must name each once, got 0, 1"));
  EXPECT_TRUE(refuses({}, "1 text must"));
  EXPECT_TRUE(refuses({.single = {{0, 0}}, .pair = {{0, 0}, {0, 1}}}, "2 texts must"));
  EXPECT_TRUE(refuses({.single = {{0, 0}}, .pair = {{-2, 0}, {1, 1}}}, "2 texts must"));
  EXPECT_TRUE(refuses({.single = {{0, 0}, {kNo, 0, 256}}, .pair = {}}, "below 256, got 256"));
}

TEST(Encode, CutsToTheLength) {
  const ByteTokenizer bert(kBert);
  EXPECT_EQ(bert.encode("abcd", {.max_length = 6}).ids, (Ids{2, 'a', 'b', 'c', 'd', 4}));
  EXPECT_EQ(bert.encode("abcd", {.max_length = 4}).ids, (Ids{2, 'a', 'b', 4}));
  const Encoding left = bert.encode("abcd", {.max_length = 4, .truncation_side = Side::kLeft});
  EXPECT_EQ(left.ids, (Ids{2, 'c', 'd', 4}));
  EXPECT_EQ(left.offsets[1], (Span{2, 3}));
  EXPECT_EQ(bert.encode("abcd", {.max_length = 2}).ids, (Ids{2, 4}));
  EXPECT_EQ(bert.encode("abcd", {.add_special_tokens = false, .max_length = 1}).ids, (Ids{'a'}));
  EXPECT_TRUE(throws("encode", {"max_length must be 0 or at least 2", "special tokens, got 1"},
                     [&] { bert.encode("abcd", {.max_length = 1}); }));
  EXPECT_TRUE(throws("encode", {"-3"}, [&] { bert.encode("", {.max_length = -3}); }));
  EXPECT_TRUE(throws("encode_pair", {"max_length must be 0 or at least 3", "special tokens, got 2"},
                     [&] { bert.encode_pair("a", "b", {.max_length = 2}); }));
}

/// The numbers of tokens of two texts of these lengths that fit into `room`.
std::pair<std::ptrdiff_t, std::ptrdiff_t> lengths_in(index_t room, std::size_t first,
                                                     std::size_t second, Truncation truncation) {
  const Encoding e =
      ByteTokenizer(kBert).encode_pair(std::string(first, 'a'), std::string(second, 'b'),
                                       {.max_length = room + 3, .truncation = truncation});
  EXPECT_LE(std::ssize(e.ids), room + 3);
  return {std::count(e.sequence_ids.begin(), e.sequence_ids.end(), 0),
          std::count(e.sequence_ids.begin(), e.sequence_ids.end(), 1)};
}

TEST(Encode, CountsTheTokensThatAreLost) {
  const ByteTokenizer bert(kBert);
  EXPECT_EQ(bert.encode("abcdef").num_truncated, 0);
  EXPECT_EQ(bert.encode("abcdef", {.max_length = 8}).num_truncated, 0);
  EXPECT_EQ(bert.encode("abcdef", {.max_length = 5}).num_truncated, 3);
  EXPECT_EQ(bert.encode("abcdef", {.max_length = 5, .truncation_side = Side::kLeft}).num_truncated,
            3);
  EXPECT_EQ(bert.encode("abcdef", {.add_special_tokens = false, .max_length = 5}).num_truncated, 1);
  EXPECT_EQ(bert.encode_pair("abcd", "ef", {.max_length = 6}).num_truncated, 3);
  for (const Encoding& window : bert.encode_windows("abcdef", {.max_length = 5, .stride = 1})) {
    EXPECT_EQ(window.num_truncated, 0);
  }
  index_t texts = 0, tokens = 0;
  const CutReport report = [&](index_t count, index_t limit) { texts = count, tokens = limit; };
  report_cut(bert.encode_batch(Texts{"ab", "cd"}, {.max_length = 4}), 4, report);
  EXPECT_EQ(texts, 0);
  report_cut(bert.encode_batch(Texts{"ab", "c", "de"}, {.max_length = 3}), 3, report);
  EXPECT_EQ(texts, 2);
  EXPECT_EQ(tokens, 3);
  EXPECT_NO_THROW(report_cut(bert.encode_batch(Texts{"ab"}, {.max_length = 3}), 3, {}));
}

TEST(EncodePair, CutsTheLongerTextFirst) {
  using Lengths = std::pair<std::ptrdiff_t, std::ptrdiff_t>;
  const auto longest = [](index_t room, std::size_t first, std::size_t second) {
    return lengths_in(room, first, second, Truncation::kLongestFirst);
  };
  EXPECT_EQ(longest(9, 4, 5), Lengths(4, 5));
  EXPECT_EQ(longest(8, 2, 9), Lengths(2, 6));
  EXPECT_EQ(longest(8, 9, 2), Lengths(6, 2));
  EXPECT_EQ(longest(5, 6, 7), Lengths(2, 3));
  EXPECT_EQ(longest(5, 7, 6), Lengths(3, 2));
  EXPECT_EQ(longest(5, 8, 7), Lengths(3, 2));
  EXPECT_EQ(longest(5, 9, 8), Lengths(2, 3));  // both are at least as long as max_length
  EXPECT_EQ(longest(5, 6, 6), Lengths(2, 3));
  EXPECT_EQ(longest(5, 3, 3), Lengths(2, 3));
  EXPECT_EQ(longest(1, 1, 1), Lengths(0, 1));
  EXPECT_EQ(longest(0, 3, 4), Lengths(0, 0));
  EXPECT_EQ(longest(3, 0, 4), Lengths(0, 3));
}

TEST(EncodePair, CutsTheTextThatIsNamed) {
  using Lengths = std::pair<std::ptrdiff_t, std::ptrdiff_t>;
  EXPECT_EQ(lengths_in(5, 6, 4, Truncation::kOnlyFirst), Lengths(1, 4));
  EXPECT_EQ(lengths_in(5, 2, 9, Truncation::kOnlySecond), Lengths(2, 3));
  EXPECT_EQ(lengths_in(9, 4, 5, Truncation::kOnlySecond), Lengths(4, 5));
  EXPECT_TRUE(throws("encode_pair", {"the first text must have more than 6 tokens", "got 6"},
                     [] { lengths_in(4, 6, 4, Truncation::kOnlyFirst); }));
  EXPECT_TRUE(throws("encode_pair", {"the second text must have more than 3 tokens", "got 1"},
                     [] { lengths_in(4, 6, 1, Truncation::kOnlySecond); }));
  const EncodeOptions left = {.max_length = 7, .truncation_side = Side::kLeft};
  EXPECT_EQ(ByteTokenizer(kBert).encode_pair("abc", "xyz", left).ids,
            (Ids{2, 'b', 'c', 4, 'y', 'z', 4}));
}

TEST(EncodeWindows, CoverATextAndShareTheStride) {
  const ByteTokenizer bert(kBert);
  const auto windows = [&](const EncodeOptions& options) {
    std::vector<Ids> ids;
    for (const Encoding& e : bert.encode_windows("abcdefg", options)) ids.push_back(e.ids);
    return ids;
  };
  EXPECT_EQ(windows({.max_length = 5}),
            (std::vector<Ids>{{2, 'a', 'b', 'c', 4}, {2, 'd', 'e', 'f', 4}, {2, 'g', 4}}));
  EXPECT_EQ(windows({.max_length = 6, .stride = 2}),
            (std::vector<Ids>{
                {2, 'a', 'b', 'c', 'd', 4}, {2, 'c', 'd', 'e', 'f', 4}, {2, 'e', 'f', 'g', 4}}));
  EXPECT_EQ(windows({.add_special_tokens = false,
                     .max_length = 4,
                     .truncation_side = Side::kLeft,
                     .stride = 1}),
            (std::vector<Ids>{{'d', 'e', 'f', 'g'}, {'a', 'b', 'c', 'd'}}));
  EXPECT_EQ(windows({}), (std::vector<Ids>{{2, 'a', 'b', 'c', 'd', 'e', 'f', 'g', 4}}));
  EXPECT_EQ(bert.encode_windows("abcdefg", {.max_length = 5, .stride = 1})[1].offsets,
            (std::vector<Span>{{0, 0}, {2, 3}, {3, 4}, {4, 5}, {0, 0}}));
  for (const index_t stride : {-1, 3, 4}) {
    EXPECT_TRUE(throws("encode_windows",
                       {"below 3, the tokens of a window, got " + std::to_string(stride)},
                       [&] { windows({.max_length = 5, .stride = stride}); }));
  }
  EXPECT_TRUE(throws("encode_windows", {"stride must be at least 0 and below 0", "got 0"},
                     [&] { windows({.max_length = 2}); }));
}

TEST(EncodePairWindows, CutTheTextThatIsNamed) {
  const ByteTokenizer plain(SpecialTokens{.sep = 4});
  const auto windows = [&](const std::string& first, const std::string& second,
                           const EncodeOptions& options) {
    std::vector<std::string> texts;
    for (const Encoding& e : plain.encode_pair_windows(first, second, options)) {
      texts.push_back(plain.decode(e.ids));
    }
    return texts;
  };
  const EncodeOptions second{.add_special_tokens = false,
                             .max_length = 5,
                             .truncation = Truncation::kOnlySecond,
                             .stride = 1};
  EXPECT_EQ(windows("?!", "abcde", second), (Texts{"?!abc", "?!cde"}));
  // Both: each window of one is combined with each of the other, the first ones before all others.
  EXPECT_EQ(windows("123", "abc", {.add_special_tokens = false, .max_length = 4}),
            (Texts{"12ab", "3ab", "3c", "12c"}));
}

TEST(EncodeAll, EncodesEachTextOnAnyNumberOfThreads) {
  const ByteTokenizer bert(kBert);
  Texts texts;
  std::vector<TextPair> pairs;
  for (int i = 0; i < 3000; ++i) {
    texts.push_back(std::string(static_cast<std::size_t>(i % 37), 'x') + std::to_string(i));
    pairs.push_back({texts.back(), "y"});
  }
  const auto all = bert.encode_batch(texts);
  const auto all_pairs = bert.encode_batch(pairs, {.max_length = 9});
  ASSERT_EQ(all.size(), texts.size());
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_EQ(all[i].ids, bert.encode(texts[i]).ids);
    EXPECT_EQ(all_pairs[i].ids, bert.encode_pair(texts[i], "y", {.max_length = 9}).ids);
  }
  EXPECT_TRUE(bert.encode_batch(Texts{}).empty());
  texts[2500] = "\x80";
  texts[100] = "ab\x80";
  EXPECT_TRUE(throws("encode", {"byte 2 must be UTF-8"}, [&] { bert.encode_batch(texts); }));
}

TEST(Decode, LeavesOutSpecialTokensOnRequest) {
  const ByteTokenizer bert(kBert);
  const Ids ids = bert.encode("ab").ids;
  EXPECT_EQ(bert.decode(ids), std::string("\x02"
                                          "ab\x04"));
  EXPECT_EQ(bert.decode_text(ids), "ab");
}

TEST(Encode, RefusesWhatIsNotUtf8) {
  const Texts texts = {"a"};
  const auto words = WordTokenizer::of(texts, {.sep = true});
  const auto characters = CharacterTokenizer::of(texts);
  // A stray continuation, an overlong slash, a surrogate, beyond U+10FFFF, cut short, Latin-1.
  for (const std::string bad :
       {"\x80", "\xc0\xaf", "\xed\xa0\x80", "\xf4\x90\x80\x80", "\xe2\x82", "\xe9 a"}) {
    for (const Tokenizer* tokenizer :
         {static_cast<const Tokenizer*>(&words), static_cast<const Tokenizer*>(&characters)}) {
      EXPECT_TRUE(
          throws("encode", {"byte 2 must be UTF-8"}, [&] { tokenizer->encode("a " + bad); }));
    }
    EXPECT_TRUE(throws("encode_pair", {"byte 0"}, [&] { words.encode_pair("a", bad); }));
    EXPECT_TRUE(throws("encode_pair", {"byte 0"}, [&] { words.encode_pair(bad, "a"); }));
  }
  EXPECT_EQ(words.encode(std::string("a\0a", 3)).ids.size(), 3u);  // a zero byte is a character
}

}  // namespace
}  // namespace tessera::text
