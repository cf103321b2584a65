// Files of texts and of labelled texts, and batches of examples.
#include "tessera/models/text/labelled_text.h"

#include "tessera/models/text/batches.h"
#include "tessera/models/text/character_tokenizer.h"
#include "tessera/models/text/text_file.h"
#include "tessera/models/text/word_tokenizer.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::text {
namespace {

using namespace test;
using Lines = std::vector<std::string>;

Lines lines_of(const std::string& bytes) {
  const TemporaryFolder folder;
  return read_lines(folder.write("f", bytes));
}

TEST(ReadText, ReturnsTheWholeFileWithUnixLineEnds) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& bytes) { return read_text(folder.write("f", bytes)); };
  EXPECT_EQ(read("one\ntwo \xe2\x82\xac\n\n"), "one\ntwo \xe2\x82\xac\n\n");
  EXPECT_EQ(read("one\r\ntwo\r\n"), "one\ntwo\n");
  EXPECT_EQ(read("a\rb\r"), "a\rb\r");  // not line ends
  EXPECT_EQ(read("\xef\xbb\xbfone"), "one");
}

TEST(ReadText, RefusesWhatIsNoText) {
  const std::vector<std::pair<std::string, std::string>> faults = {
      {"", "must have at least 1 byte, got none"},
      {"\xef\xbb\xbf", "must have at least 1 byte, got none"},
      {"\xff", "line 1, byte 1: must be UTF-8, got '\\xff'"},
      {"ab\ncd\xe9 e\n", "line 2, byte 3: must be UTF-8, got '\\xe9'"},
      {"ab\n\n\xc3\n", "line 3, byte 1: must be UTF-8, got '\\xc3'"}};
  for (const auto& [bytes, error] : faults) {
    EXPECT_EQ(error_of_bytes(bytes, [](const auto& path) { read_text(path); }), error);
  }
  expect_refused([] { read_text("/absent/file"); }, "/absent/file: cannot open");
}

TEST(CleanText, IsReadTextOfBytesFromElsewhere) {
  EXPECT_EQ(clean_text("\xef\xbb\xbfone\r\ntwo", "there"), "one\ntwo");
  EXPECT_EQ(file_error([] { clean_text("a\n\xff", "there"); }),
            "there: line 2, byte 1: must be UTF-8, got '\\xff'");
}

TEST(ReadLines, DropsLineEndsAndNothingElse) {
  EXPECT_EQ(lines_of("a\n\n b \n"), (Lines{"a", "", " b "}));
  EXPECT_EQ(lines_of("a\r\nb"), (Lines{"a", "b"}));
  EXPECT_EQ(lines_of("\n"), Lines{""});
}

TEST(ReadLabelledLines, CutsAtTheFirstTab) {
  const TemporaryFolder folder;
  const auto examples = read_labelled_lines(folder.write("f", "A\tone two\r\nB b\tx\ty\n"));
  ASSERT_EQ(examples.size(), 2u);
  EXPECT_EQ(examples[0].label, "A");
  EXPECT_EQ(examples[0].text, "one two");
  EXPECT_EQ(examples[1].label, "B b");
  EXPECT_EQ(examples[1].text, "x\ty");
}

/// Files and the errors of reading them, without the file's name in front.
using Faults = std::vector<std::pair<std::string, std::string>>;

template <class Read>
void expect_errors(const Faults& faults, const Read& read) {
  for (const auto& [bytes, error] : faults) EXPECT_EQ(error_of_bytes(bytes, read), error);
}

TEST(ReadLabelledLines, NamesTheLineThatIsWrong) {
  const auto read = [](const auto& path) { read_labelled_lines(path); };
  const std::string must = ": must be a label, a tab and a text, got ";
  const std::string after = ": the text after the label 'LOC' must not be blank, got ";
  expect_errors(
      {{"A\tx\nno tab\n", "line 2" + must + "no tab in 'no tab'"},
       {"A\tx\n\nA\ty", "line 2" + must + "an empty line"},
       {"A\tx\r\n\r\n", "line 2" + must + "an empty line"},
       {"A\tx\nLOC\t\n", "line 2, byte 5" + after + "''"},
       {"LOC\t \t\n", "line 1, byte 5" + after + "' \\x09'"},
       {"\ttext\n", "line 1, byte 1: the label before the tab must not be blank, got ''"}},
      read);
  EXPECT_LE(error_of_bytes(std::string(10000, 'x'), read).size(), 512u);
}

TEST(Labels, AreNumberedInTheirOrder) {
  const std::vector<LabelledText> examples = {{"b", "x"}, {"a", "x"}, {"b", "x"}, {"C", "x"}};
  const Lines labels = distinct_labels(examples);
  EXPECT_EQ(labels, (Lines{"C", "a", "b"}));
  EXPECT_EQ(label_numbers(examples, labels, "f"), (std::vector<index_t>{2, 1, 2, 0}));
  EXPECT_EQ(file_error([&] {
              label_numbers(examples, {"a", "b"}, "test.tsv");
            }),
            "test.tsv: line 4: label must be one of 'a, b', got 'C'");
  EXPECT_TRUE(throws("label_numbers", {"labels must be different, got 'b' twice"}, [&] {
    label_numbers(examples, {"C", "b", "b", "a"}, "f");
  }));
}

TEST(Tokenization, HasATokenizer) {
  const std::vector<LabelledText> examples = {{"b", "x"}};
  EXPECT_TRUE(throws("Tokenization", {"must have a tokenizer, got a null pointer"},
                     [&] { encoded_examples(examples, Tokenization{}, "f"); }));
  EXPECT_TRUE(throws("Tokenization", {"must have a tokenizer"},
                     [&] { labelled_examples(examples, {"b"}, Tokenization{}, "f"); }));
}

TEST(Tokenization, ReportsTextsThatAreCut) {
  const Lines texts = {"one two three", "one", "one two"};
  const WordTokenizer words = WordTokenizer::of(texts);
  std::vector<std::pair<index_t, index_t>> reports;
  const auto report = [&](index_t count, index_t limit) { reports.emplace_back(count, limit); };
  for (const index_t limit : {0, 4, 3}) {  // of the tokens with [CLS]
    const Tokenization encode = {&words, {.max_length = limit}, false, report};
    EXPECT_EQ(encode.encode_batch(texts)[1].ids.size(), 2U);
  }
  EXPECT_EQ(reports, (std::vector<std::pair<index_t, index_t>>{{1, 3}}));
}

TEST(ReadLabelledPairs, CutsAtBothTabs) {
  const TemporaryFolder folder;
  const auto pairs = read_labelled_pairs(folder.write("f", "yes\tA b\tC\r\nno\tx\ty z\n"));
  ASSERT_EQ(pairs.size(), 2u);
  EXPECT_EQ(pairs[0].label, "yes");
  EXPECT_EQ(pairs[0].text, "A b");
  EXPECT_EQ(pairs[0].second, "C");
  EXPECT_EQ(pairs[1].second, "y z");
  EXPECT_EQ(distinct_labels(pairs), (Lines{"no", "yes"}));
  EXPECT_EQ(label_numbers(pairs, {"no", "yes"}, "f"), (std::vector<index_t>{1, 0}));
}

TEST(ReadLabelledPairs, NamesTheLineThatIsWrong) {
  const std::string must = ": must be a label, a tab, a text, a tab and a text, got ";
  expect_errors(
      {{"a\tb\tc\n\n", "line 2" + must + "an empty line"},
       {"a b c", "line 1" + must + "no tab in 'a b c'"},
       {"a\tb\tc\na\tb", "line 2" + must + "1 tab in 'a\\x09b'"},
       {"a\tb\tc\td", "line 1" + must + "3 tabs in 'a\\x09b\\x09c\\x09d'"},
       {"\tb\tc", "line 1, byte 1: the label before the tab must not be blank, got ''"},
       {"ab\t \tc", "line 1, byte 4: the text after the label 'ab' must not be blank, got ' '"},
       {"ab\tcde\t",
        "line 1, byte 8: the second text after the text 'cde' must not be blank, got ''"}},
      [](const auto& path) { read_labelled_pairs(path); });
}

TEST(ReadTaggedTokens, JoinsTheTokensOfASentence) {
  const TemporaryFolder folder;
  const auto sentences = read_tagged_tokens(
      folder.write("f", "\nAda\tB-PER\nlives\tO\n\n\n\xc3\xa9t\xc3\xa9\tO\r\n.\tO\n"));
  ASSERT_EQ(sentences.size(), 2u);
  EXPECT_EQ(sentences[0].text, "Ada lives");
  EXPECT_EQ(sentences[0].words, (std::vector<Span>{{0, 3}, {4, 9}}));
  EXPECT_EQ(sentences[0].tags, (Lines{"B-PER", "O"}));
  EXPECT_EQ(sentences[0].line, 2);
  EXPECT_EQ(sentences[1].text, "\xc3\xa9t\xc3\xa9 .");
  EXPECT_EQ(sentences[1].words, (std::vector<Span>{{0, 5}, {6, 7}}));
  EXPECT_EQ(sentences[1].line, 6);
  EXPECT_EQ(distinct_labels(sentences), (Lines{"B-PER", "O"}));
  EXPECT_EQ(label_numbers(sentences, {"O", "B-PER"}, "f"),
            (std::vector<std::vector<index_t>>{{1, 0}, {0, 0}}));
  EXPECT_EQ(file_error([&] { label_numbers(sentences, {"B-PER"}, "dev.tsv"); }),
            "dev.tsv: line 3: label must be one of 'B-PER', got 'O'");
}

TEST(ReadTaggedTokens, NamesTheLineThatIsWrong) {
  const std::string must = ": must be a token, a tab and a label, got ";
  expect_errors(
      {{"a\tO\n\nb O\n", "line 3" + must + "no tab in 'b O'"},
       {"a\tO\t\n", "line 1" + must + "2 tabs in 'a\\x09O\\x09'"},
       {"a\tO\n\tO\n", "line 2, byte 1: the token before the tab must not be blank, got ''"},
       {"a\t\n", "line 1, byte 3: the label after the token 'a' must not be blank, got ''"},
       {"\n\n", "must have at least 1 token, got none"},
       {"a\tO\n\xff\tO\n", "line 2, byte 1: must be UTF-8, got '\\xff'"}},
      [](const auto& path) { read_tagged_tokens(path); });
}

TEST(LabelValues, AreNumbers) {
  const std::vector<LabelledText> examples = {{"0.5", "x"}, {"-2", "x"}, {"1e-3", "x"}};
  EXPECT_EQ(label_values(examples, "f"), (std::vector<double>{0.5, -2, 1e-3}));
  EXPECT_EQ(label_values(std::vector<LabelledText>{{"4.25", "x", "y"}}, "f"),
            std::vector<double>{4.25});
  for (const std::string bad : {"good", "1,5", "2 ", "nan", "inf", "1e999"}) {
    EXPECT_EQ(file_error([&] {
                label_values(std::vector<LabelledText>{{"1", "x"}, {bad, "x"}}, "f");
              }),
              "f: line 2: label must be a number, got '" + bad + "'");
  }
}

TEST(TokenLabels, GoToTheFirstTokenOfAWord) {
  // "Mr." is two tokens, "U.S." four; a space is not a token.
  const std::string text = "Mr. Lee left U.S.";
  const std::vector<Span> words = {{0, 3}, {4, 7}, {8, 12}, {13, 17}};
  const std::vector<index_t> labels = {1, 2, 0, 3};
  constexpr index_t kNo = kIgnoreIndex;
  const auto tokenizer = WordTokenizer::of(std::vector{text}, {.sep = true});
  EXPECT_EQ(token_labels(tokenizer.encode(text), words, labels),
            (std::vector<index_t>{kNo, 1, kNo, 2, 0, 3, kNo, kNo, kNo, kNo}));
  EXPECT_EQ(token_labels(tokenizer.encode(text, {.max_length = 5}), words, labels),
            (std::vector<index_t>{kNo, 1, kNo, 2, kNo}));
  EXPECT_EQ(token_labels(tokenizer.encode_pair(text, text, {.max_length = 8}), words, labels),
            (std::vector<index_t>{kNo, 1, kNo, kNo, kNo, kNo, kNo, kNo}));
  const auto characters = CharacterTokenizer::of(std::vector{text});
  EXPECT_EQ(token_labels(characters.encode("Mr. Lee", {.add_special_tokens = false}),
                         std::span(words).first(2), std::span(labels).first(2)),
            (std::vector<index_t>{1, kNo, kNo, kNo, 2, kNo, kNo}));
  // A token may begin with the space before its word.
  Encoding spaced;
  spaced.ids = {7, 8};
  spaced.sequence_ids = {0, 0};
  spaced.offsets = {{0, 3}, {3, 7}};
  EXPECT_EQ(token_labels(spaced, std::span(words).first(2), std::span(labels).first(2)),
            (std::vector<index_t>{1, 2}));
  EXPECT_THROW(token_labels(spaced, words, std::span(labels).first(1)), std::invalid_argument);
}

using Ids = std::vector<index_t>;

TEST(MakeBatch, PadsToTheLongestChosen) {
  const std::vector<Example> examples = {
      {{7, 8}, 1}, {{9, 9, 9, 9, 9}, 2}, {{5, 6, 7}, 0}, {{}, 3}};
  const Batch batch = make_batch(examples, Ids{2, 0, 3}, 4);
  EXPECT_EQ(batch.ids.shape(), (Shape{3, 3}));
  EXPECT_EQ(batch.ids.to_vector<index_t>(), (Ids{5, 6, 7, 7, 8, 4, 4, 4, 4}));
  EXPECT_EQ(batch.lengths.to_vector<index_t>(), (Ids{3, 2, 0}));
  EXPECT_EQ(batch.labels.to_vector<index_t>(), (Ids{0, 1, 3}));
  EXPECT_EQ(lengths_of(examples), (Ids{2, 5, 3, 0}));
  EXPECT_TRUE(test::throws("make_batch", {"4"}, [&] { make_batch(examples, Ids{4}); }));
  EXPECT_TRUE(test::throws("make_batch", {"-1"}, [&] { make_batch(examples, Ids{-1}); }));
  EXPECT_TRUE(test::throws("make_batch", {"examples must be at least 1"},
                           [&] { make_batch(examples, Ids{}); }));
}

TEST(MakeBatch, HasTheLabelsThatTheExamplesHave) {
  const std::vector<Example> plain = {{.ids = {5, 6}}, {.ids = {7}}};
  EXPECT_FALSE(make_batch(plain, Ids{0, 1}).labels.defined());
  EXPECT_FALSE(make_batch(plain, Ids{0, 1}).type_ids.defined());
  EXPECT_EQ(make_batch(plain, Ids{0, 1}).ids.to_vector<index_t>(), (Ids{5, 6, 7, 0}));

  const std::vector<Example> tagged = {
      {{5, 6}, Ids{1, 2}}, {{7}, Ids{kIgnoreIndex}}, {{8, 9, 4}, Ids{0, 0, 3}}};
  const Batch tags = make_batch(tagged, Ids{1, 0, 2});
  EXPECT_EQ(tags.labels.shape(), (Shape{3, 3}));
  constexpr index_t kNo = kIgnoreIndex;
  EXPECT_EQ(tags.labels.to_vector<index_t>(), (Ids{kNo, kNo, kNo, 1, 2, kNo, 0, 0, 3}));

  const std::vector<Example> values = {{{5}, 0.5}, {{6}, -2.0}};
  const Batch targets = make_batch(values, Ids{0, 1});
  EXPECT_EQ(targets.labels.dtype(), kFloat32);
  EXPECT_EQ(targets.labels.to_vector<float>(), (std::vector<float>{0.5F, -2.0F}));
}

TEST(MakeBatch, PadsTypesWithZeros) {
  const std::vector<Example> examples = {{{5, 6, 7}, 0, {0, 1, 1}}, {{8}, 0}};
  EXPECT_EQ(make_batch(examples, Ids{0, 1}).type_ids.to_vector<index_t>(), (Ids{0, 1, 1, 0, 0, 0}));
  EXPECT_FALSE(make_batch(examples, Ids{1}).type_ids.defined());
}

TEST(MakeBatch, RefusesExamplesThatDoNotFit) {
  const auto refuses = [](const std::string& part, const std::vector<Example>& examples) {
    EXPECT_TRUE(test::throws("make_batch", {part}, [&] { make_batch(examples, Ids{0, 1}); }));
  };
  refuses("labels must be of one kind, got different kinds in the examples 0 and 1",
          {{{5}, 1}, {{6}, 1.0}});
  refuses("must be of one kind", {{{5}, 1}, {{6}}});
  refuses("must be of one kind", {{{5}, 1}, {{6}, Ids{1}}});
  refuses("example 1 must have a label for each token, got 1 labels for 2 tokens",
          {{{5}, Ids{1}}, {{6, 7}, Ids{1}}});
  refuses("example 1 must have a type for each token, got 2 types for 1 tokens",
          {{{5}}, {{6}, {}, {0, 0}}});
}

TEST(ClassOf, IsTheNumberOfAText) {
  EXPECT_EQ(class_of({{5}, 3}), 3);
  for (const Label& label : {Label(), Label(2.0), Label(Ids{3})}) {
    EXPECT_TRUE(test::throws("class_of", {"must be a class, got"}, [&] {
      class_of({{5}, label});
    }));
  }
}

}  // namespace
}  // namespace tessera::text
