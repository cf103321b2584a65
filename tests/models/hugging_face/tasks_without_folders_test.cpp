// The parts of tasks around their models; the models here are tiny and not from folders.
#include <cctype>
#include <functional>

#include "tessera/models/hugging_face/detail/answers.h"
#include "tessera/models/hugging_face/hugging_face.h"
#include "tessera/tensor/ops/softmax.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"
#include "tests/support/tiny_model.h"

namespace tessera::models {
namespace {

using namespace test;

constexpr const char* kTokenizer = R"({
  "version": "1.0", "truncation": null, "padding": null,
  "added_tokens": [
    {"id": 0, "content": "[PAD]", "special": true}, {"id": 1, "content": "[UNK]", "special": true},
    {"id": 2, "content": "[CLS]", "special": true}, {"id": 3, "content": "[SEP]", "special": true},
    {"id": 4, "content": "[MASK]", "special": true}],
  "normalizer": null, "pre_tokenizer": {"type": "WhitespaceSplit"},
  "post_processor": {"type": "BertProcessing", "sep": ["[SEP]", 3], "cls": ["[CLS]", 2]},
  "decoder": {"type": "WordPiece", "prefix": "##", "cleanup": true},
  "model": {"type": "WordPiece", "unk_token": "[UNK]", "continuing_subword_prefix": "##",
    "max_input_chars_per_word": 100,
    "vocab": {"[PAD]": 0, "[UNK]": 1, "[CLS]": 2, "[SEP]": 3, "[MASK]": 4, "new": 5, "##ton": 6,
              "law": 7, "##s": 8, "rio": 9, "in": 10}}})";

TokenEncoderOptions tokens_of_pairs() {
  TokenEncoderOptions options = tiny_tokens();
  options.max_positions = 12;
  options.type_vocab_size = 2;
  return options;
}

TextReader reader() {
  return {.tokenizer = text::tokenizer_from_text(kTokenizer, "tokenizer.json"), .max_length = 12};
}

TextClassifier classifier(Scoring scoring) {
  return {.reader = reader(),
          .model = make_model<SequenceClassifier>(
              SequenceClassifierOptions{.token_encoder = tokens_of_pairs(),
                                        .num_labels = 3,
                                        .pooling = Pooling::kCls,
                                        .head = PredictionHeadOptions{}}),
          .labels = {"a", "b", "c"},
          .scoring = scoring};
}

QuestionAnswerer answerer() {
  return {.reader = reader(),
          .model = make_model<TokenClassifier>(
              TokenClassifierOptions{.token_encoder = tokens_of_pairs(), .num_labels = 2})};
}

const std::vector<std::string> kFourTexts = {"newton laws in rio", "", "law", "rio in new rio"};

TEST(TextClassifier, GivesATextTheSameBitsAloneAndAmongOthers) {
  const TextClassifier model = classifier(Scoring::kNone);
  const auto together = model(kFourTexts);
  const auto two = model(kFourTexts, {.batch_size = 2});
  for (std::size_t i = 0; i < kFourTexts.size(); ++i) {
    const auto alone = model(std::span(kFourTexts).subspan(i, 1));
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_EQ(together[i][k].score, alone[0][k].score);
      EXPECT_EQ(together[i][k].label, two[i][k].label);
      EXPECT_EQ(together[i][k].score, two[i][k].score);
    }
  }
  EXPECT_TRUE(model(std::span<const std::string>()).empty());
}

TEST(TextClassifier, FeedsTypesOfPairsWhereTheModelReadsThem) {
  TextClassifier model = classifier(Scoring::kSigmoid);
  const std::vector<text::TextPair> pairs = {{"newton", "law rio"}};
  const text::Encoding encoding = model.reader.tokenizer->encode_pair("newton", "law rio");
  const Tensor ids = from_vector(encoding.ids, {1, std::ssize(encoding.ids)});
  const Tensor types = from_vector(encoding.type_ids, {1, std::ssize(encoding.type_ids)});
  EXPECT_TRUE(same_bits(model.logits(std::span(&encoding, 1)),
                        model.model({.ids = ids, .type_ids = types})));
  model.reader.feeds_type_ids = false;
  EXPECT_TRUE(same_bits(model.logits(std::span(&encoding, 1)), model.model(ids)));
  EXPECT_EQ(model(pairs).at(0).size(), 3U);
}

TEST(Tasks, TakeListsInBraces) {
  const TextClassifier model = classifier(Scoring::kNone);
  EXPECT_EQ(model({"new rio", "law"}).size(), 2U);
  EXPECT_EQ(model({"new rio"}, {.batch_size = 1}).size(), 1U);
  EXPECT_EQ(model({text::TextPair{"new", "rio"}}).size(), 1U);
  EXPECT_EQ(model.scores({{"new", "rio"}, {"law", "rio"}}).shape(), (Shape{2, 3}));
  const std::vector<std::string> texts = {"new rio", "law", "rio"};
  EXPECT_EQ(model(std::span(texts).subspan(1)).size(), 2U);
  EXPECT_EQ(model.reader.tokenizer->encode_batch({"new", "rio"}).size(), 2U);
}

TEST(TextClassifier, CutsTextsToWhatTheModelReads) {
  const TextClassifier model = classifier(Scoring::kNone);
  const std::vector<std::string> texts = {"rio rio rio rio rio rio rio rio rio rio rio rio rio",
                                          "rio rio rio rio rio rio rio rio rio rio"};
  const auto cut = model(texts);
  EXPECT_EQ(cut[0][0].score, cut[1][0].score);
  const auto shorter = model(texts, {.max_length = 4});
  EXPECT_NE(shorter[0][0].score, cut[0][0].score);
}

TEST(TextClassifier, RanksTexts) {
  TextClassifier model = {.reader = reader(),
                          .model = make_model<SequenceClassifier>(SequenceClassifierOptions{
                              .token_encoder = tokens_of_pairs(), .num_labels = 1}),
                          .labels = {"a"},
                          .scoring = Scoring::kSigmoid};
  std::vector<text::TextPair> pairs;
  for (const std::string& text : kFourTexts) pairs.push_back({"laws", text});
  const auto scores = model.scores(pairs).to_vector<float>();
  const auto ranked = model.rank("laws", kFourTexts);
  ASSERT_EQ(ranked.size(), kFourTexts.size());
  for (std::size_t i = 0; i < ranked.size(); ++i) {
    EXPECT_EQ(ranked[i].score,
              static_cast<double>(scores[static_cast<std::size_t>(ranked[i].text)]));
    if (i > 0) {
      EXPECT_GE(ranked[i - 1].score, ranked[i].score);
    }
  }
  model.labels = {"a", "b"};
  EXPECT_TRUE(throws("TextClassifier::scores", {"1 score per pair, got 2"},
                     [&] { model.rank("laws", kFourTexts); }));
}

/// Adds a number to all outputs of a model.
template <class Model>
void raise_outputs(Model& model, double by) {
  model.classifier.bias = model.classifier.bias + by;
}

// Sigmoid and softmax give 1 for many numbers: sentence-transformers orders by the numbers.
TEST(TextClassifier, OrdersEqualScoresByTheOutputs) {
  TextClassifier model = {.reader = reader(),
                          .model = make_model<SequenceClassifier>(SequenceClassifierOptions{
                              .token_encoder = tokens_of_pairs(), .num_labels = 1}),
                          .labels = {"a"},
                          .scoring = Scoring::kNone};
  const auto order = [](const std::vector<RankedText>& ranked) {
    std::vector<index_t> texts;
    for (const RankedText& each : ranked) texts.push_back(each.text);
    return texts;
  };
  const auto want = order(model.rank("laws", kFourTexts));
  EXPECT_FALSE(std::ranges::is_sorted(want));
  raise_outputs(model.model, 50);
  for (const Scoring scoring : {Scoring::kSigmoid, Scoring::kSoftmax}) {
    model.scoring = scoring;
    const auto ranked = model.rank("laws", kFourTexts);
    EXPECT_EQ(order(ranked), want);
    for (const RankedText& each : ranked) EXPECT_EQ(each.score, 1.0);
  }
  TextClassifier classes = classifier(Scoring::kNone);
  const auto of_logits = classes(kFourTexts);
  raise_outputs(classes.model, 50);
  classes.scoring = Scoring::kSigmoid;
  const auto of_scores = classes(kFourTexts);
  for (std::size_t i = 0; i < kFourTexts.size(); ++i) {
    for (std::size_t k = 0; k < 3; ++k) {
      EXPECT_EQ(of_scores[i][k].label, of_logits[i][k].label);
      EXPECT_EQ(of_scores[i][k].score, 1.0);
    }
  }
}

TEST(Tasks, ReportTextsThatTheyCut) {
  std::vector<std::pair<index_t, index_t>> reports;
  const TaskOptions options = {.max_length = 4, .report_cut = [&](index_t texts, index_t tokens) {
                                 reports.emplace_back(texts, tokens);
                               }};
  const TextClassifier model = classifier(Scoring::kNone);
  model({"new rio", "law", ""}, options);
  EXPECT_TRUE(reports.empty());
  model({"rio rio rio", "rio rio", "law law law law"}, options);
  EXPECT_EQ(reports, (std::vector<std::pair<index_t, index_t>>{{2, 4}}));
  model({text::TextPair{"rio rio", "law"}, text::TextPair{"", "law"}}, options);
  EXPECT_EQ(reports.back(), (std::pair<index_t, index_t>{1, 4}));
}

TEST(TextClassifier, HasALabelForEachClass) {
  TextClassifier model = classifier(Scoring::kSoftmax);
  for (const std::vector<std::string>& labels :
       {std::vector<std::string>{"a"}, std::vector<std::string>{"a", "b", "c", "d"}}) {
    model.labels = labels;
    EXPECT_TRUE(
        throws("TextClassifier",
               {"labels must be 3, one per class of the model", str_cat("got ", labels.size())},
               [&] { model(kFourTexts); }));
  }
}

TEST(Tasks, HaveATokenizer) {
  const auto refuses = [](const char* op, const auto& body) {
    EXPECT_TRUE(throws(op, {"must have a tokenizer, got a null pointer"}, body));
  };
  QuestionAnswerer answers = answerer();
  answers.reader.tokenizer = nullptr;
  const std::vector<Question> questions = {{"law", "rio"}};
  refuses("TextReader", [&] { answers(questions); });
  refuses("TextReader", [&] { answers.windows(questions[0]); });
  const MaskFiller blanks = {
      .reader = {},
      .model = make_model<MaskedLM>(MaskedLMOptions{.token_encoder = tokens_of_pairs()})};
  refuses("MaskFiller", [&] { blanks(kFourTexts); });
}

TEST(TokenTagger, TagsTokensAndWords) {
  TokenTagger model = {.reader = reader(),
                       .model = make_model<TokenClassifier>(TokenClassifierOptions{
                           .token_encoder = tokens_of_pairs(), .num_labels = 1}),
                       .labels = {"I-X"}};
  const auto tokens = model(kFourTexts, AggregationStrategy::kNone);
  ASSERT_EQ(tokens[0].size(), 6U);  // new ##ton law ##s in rio
  EXPECT_EQ(tokens[0][1].bytes, (text::Span{3, 6}));
  EXPECT_EQ(tokens[0][5].bytes, (text::Span{15, 18}));
  EXPECT_EQ(tokens[0][5].label, "I-X");
  EXPECT_TRUE(tokens[1].empty());
  const auto groups = model(kFourTexts, AggregationStrategy::kFirst, {.batch_size = 1});
  ASSERT_EQ(groups[0].size(), 1U);
  EXPECT_EQ(groups[0][0].label, "X");
  EXPECT_EQ(groups[0][0].bytes, (text::Span{0, 18}));
  EXPECT_EQ(groups[0][0].score, 1.0);
  for (const std::vector<std::string>& labels :
       {std::vector<std::string>{}, std::vector<std::string>{"O", "I-X"}}) {
    model.labels = labels;
    EXPECT_TRUE(
        throws("TokenTagger",
               {"labels must be 1, one per class of the model", str_cat("got ", labels.size())},
               [&] { model(kFourTexts); }));
  }
}

TEST(TokenTagger, ReadsLongTextsInWindows) {
  const TokenTagger model = {.reader = reader(),
                             .model = make_model<TokenClassifier>(TokenClassifierOptions{
                                 .token_encoder = tokens_of_pairs(), .num_labels = 2}),
                             .labels = {"B-X", "I-Y"}};
  const std::string text = "in rio newton laws rio in newton law in newtons rio laws";
  const auto last = [](const std::vector<Tag>& tags) { return tags.back().bytes.end; };
  EXPECT_LT(last(model({text})[0]), std::ssize(text));  // truncated to 12 tokens
  for (const index_t stride : {0, 2, 5}) {
    const TaskOptions options = {.max_length = 9, .stride = stride};
    const auto tags = model({text, "rio"}, AggregationStrategy::kFirst, options);
    EXPECT_EQ(last(tags[0]), std::ssize(text));
    EXPECT_EQ(tags[1].size(), 1U);
    for (std::size_t i = 1; i < tags[0].size(); ++i) {
      EXPECT_GE(tags[0][i].bytes.begin, tags[0][i - 1].bytes.end);
    }
  }
  EXPECT_EQ(model.windows("rio", {.stride = 2}).size(), 1U);
  EXPECT_TRUE(throws("TokenTagger", {"strategy must not be none for windows"},
                     [&] { model({text}, AggregationStrategy::kNone, {.stride = 2}); }));
  EXPECT_TRUE(throws("encode_windows", {"stride", "below 10", "got 10"},
                     [&] { model({text}, AggregationStrategy::kFirst, {.stride = 10}); }));
}

/// Checks that each answer is the text at its bytes, and that answers are in order of their scores.
void expect_parts_in_order(const std::vector<Answer>& answers, const std::string& context) {
  for (std::size_t i = 0; i < answers.size(); ++i) {
    const auto begin = static_cast<std::size_t>(answers[i].bytes.begin);
    const auto end = static_cast<std::size_t>(answers[i].bytes.end);
    EXPECT_EQ(answers[i].text, context.substr(begin, end - begin));
    if (i > 0) {
      EXPECT_GE(answers[i - 1].score, answers[i].score);
    }
  }
}

TEST(QuestionAnswerer, ReadsLongContextsInWindows) {
  const QuestionAnswerer model = answerer();
  const std::string context = "in rio newton laws rio in newton law in newtons rio laws";
  const std::vector<Question> questions = {{"newton", context}};
  const AnsweringOptions options = {.top_k = 300, .window = 10, .stride = 2};
  const auto results = model(questions, options);
  expect_parts_in_order(results[0], context);
  const bool reaches_the_end = std::ranges::any_of(
      results[0], [&](const Answer& a) { return a.bytes.end == std::ssize(context); });
  EXPECT_TRUE(reaches_the_end);
}

/// The answers of transformers' pipeline (4.53 and later): the best 2 count + 10 spans of each
/// window; equal answers are one, with the sum of their scores.
std::vector<Answer> pipeline_answers(const QuestionAnswerer& model, const Question& question,
                                     const AnsweringOptions& options) {
  std::vector<Answer> answers;
  const auto lower = [](std::string text) {  // the texts are ASCII
    for (char& c : text) c = static_cast<char>(std::tolower(c));
    return text;
  };
  for (const text::Encoding& window : model.windows(question, options)) {
    const Tensor logits = model.model(model.reader.tokens(window)).select(0, 0);
    const auto size = std::ssize(window.ids);
    Tensor hidden = logits.to(kFloat64).clone();
    for (index_t t = 1; t < size; ++t) {
      if (window.sequence_ids[static_cast<std::size_t>(t)] != 1) hidden.select(0, t).fill(-10000);
    }
    const Tensor p = softmax(hidden, 0);
    std::vector<Answer> spans;
    for (index_t i = 1; i < size; ++i) {
      for (index_t j = i; j < std::min(i + options.max_answer_tokens, size); ++j) {
        if (window.sequence_ids[static_cast<std::size_t>(i)] != 1 ||
            window.sequence_ids[static_cast<std::size_t>(j)] != 1) {
          continue;
        }
        const text::Span bytes = bytes_of_words(window, i, j);
        spans.push_back({std::string(text::text_at(question.context, bytes)),
                         p.item_at({i, 0}) * p.item_at({j, 1}), bytes});
      }
    }
    std::ranges::stable_sort(spans, std::greater(), &Answer::score);
    spans.resize(std::min(spans.size(), static_cast<std::size_t>(2 * options.top_k + 10)));
    for (const Answer& span : spans) {
      const auto same = std::ranges::find_if(
          answers, [&](const Answer& a) { return lower(a.text) == lower(span.text); });
      if (same == answers.end()) {
        answers.push_back(span);
      } else {
        same->score += span.score;
      }
    }
  }
  std::ranges::stable_sort(answers, std::greater(), &Answer::score);
  answers.resize(std::min(answers.size(), static_cast<std::size_t>(options.top_k)));
  return answers;
}

TEST(QuestionAnswerer, AddsTheScoresOfEqualAnswers) {
  const QuestionAnswerer model = answerer();
  const Question question = {"newton", "rio law Rio newton RIO in laws LAWS rio law in newton"};
  for (const AnsweringOptions& options :
       {AnsweringOptions{}, AnsweringOptions{.top_k = 3, .max_answer_tokens = 2},
        AnsweringOptions{.top_k = 100, .max_answer_tokens = 3},
        AnsweringOptions{.top_k = 100, .window = 9, .stride = 3},
        AnsweringOptions{.top_k = 2, .window = 8, .stride = 1}}) {
    const auto want = pipeline_answers(model, question, options);
    const auto got = model({question}, options)[0];
    ASSERT_EQ(got.size(), want.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ(got[i].text, want[i].text);
      EXPECT_EQ(got[i].bytes, want[i].bytes);
      EXPECT_NEAR(got[i].score, want[i].score, 1e-6);
    }
  }
  // A capital sigma has two small letters.
  const Question greek = {"newton", "\u039f\u03a3 \u03bf\u03c2 \u03bf\u03c3"};
  EXPECT_EQ(model({greek}, {.top_k = 50, .max_answer_tokens = 1})[0].size(), 1U);
}

TEST(QuestionAnswerer, SaysWhatCannotBeAnswered) {
  const QuestionAnswerer model = answerer();
  const std::vector<Question> empty = {{"newton", " "}};
  EXPECT_TRUE(model(empty)[0].empty());
  const auto none = model(empty, {.allow_no_answer = true});
  ASSERT_EQ(none[0].size(), 1U);
  EXPECT_EQ(none[0][0].text, "");
  const std::vector<Question> long_one = {{"in", "rio"}, {"in in in in in in in in in", "rio"}};
  EXPECT_TRUE(throws("QuestionAnswerer",
                     {"the question of text 1", "leave room", "12 tokens, got 9 tokens"},
                     [&] { model(long_one); }));
  const std::vector<Question> just = {{"in in in in in in in in", "rio law in rio"}};
  for (const index_t classes : {1, 3}) {
    QuestionAnswerer other = answerer();
    other.model = make_model<TokenClassifier>(
        TokenClassifierOptions{.token_encoder = tokens_of_pairs(), .num_labels = classes});
    EXPECT_TRUE(throws("QuestionAnswerer", {"model must have 2 classes", str_cat("got ", classes)},
                       [&] { other(just); }));
  }
  EXPECT_EQ(model(just).at(0).size(), 1U);  // a window has room for one of its tokens
  const std::vector<std::pair<AnsweringOptions, std::string>> wrong = {
      {{.top_k = 0}, "top_k"},
      {{.max_answer_tokens = 0}, "max_answer_tokens"},
      {{.window = 0}, "window"},
      {{.stride = -1}, "stride"}};
  for (const auto& [options, name] : wrong) {
    EXPECT_TRUE(throws("QuestionAnswerer", {name}, [&, &with = options] { model(just, with); }));
  }
}

TEST(MaskFiller, FillsEachBlank) {
  const MaskFiller model = {
      .reader = reader(),
      .model = make_model<MaskedLM>(MaskedLMOptions{.token_encoder = tokens_of_pairs()})};
  EXPECT_EQ(model.mask(), "[MASK]");
  const auto results = model({"new [MASK] in rio", "[MASK] law [MASK]"}, {.top_k = 20});
  ASSERT_EQ(results[0].size(), 1U);
  ASSERT_EQ(results[1].size(), 2U);
  EXPECT_EQ(results[0][0].bytes, (text::Span{4, 10}));
  EXPECT_EQ(results[1][1].bytes, (text::Span{11, 17}));
  ASSERT_EQ(results[0][0].fillings.size(), 11U);  // there are no more tokens
  double sum = 0;
  for (const Filling& filling : results[0][0].fillings) {
    sum += filling.score;
    if (filling.id != 9) continue;
    EXPECT_EQ(filling.text, "new rio in rio");
    EXPECT_EQ(filling.token, "rio");
  }
  EXPECT_NEAR(sum, 1, 1e-5);
  for (const Filling& filling : results[1][0].fillings) {
    if (filling.id == 9) {
      EXPECT_EQ(filling.text, "rio law [MASK]");
    }
  }
  const Tensor ids = tensor({{2, 4, 7, 4, 3}});
  const auto want = softmax(model.model({.ids = ids}, tensor({3}))).to_vector<float>();
  const Filling& first = results[1][1].fillings.at(0);
  EXPECT_EQ(first.score, static_cast<double>(want[static_cast<std::size_t>(first.id)]));
  EXPECT_TRUE(throws("MaskFiller", {"text 0 must have a [MASK]"}, [&] { model(kFourTexts); }));
  for (const char* text : {"rio rio rio [MASK]", "[MASK] rio rio [MASK]"}) {
    EXPECT_TRUE(throws("MaskFiller",
                       {"text 0 must have each [MASK] in the 4 tokens that the model reads",
                        "got one in the 2 tokens that are cut off"},
                       [&, &with = text] { model({with}, {.task = {.max_length = 4}}); }));
  }
  EXPECT_EQ(model({"[MASK] rio rio"}, {.task = {.max_length = 4}})[0].size(), 1U);
  EXPECT_TRUE(throws("MaskFiller", {"text 7 must have a [MASK]"}, [&] {
    model(kFourTexts, {.task = {.name = [](index_t i) { return str_cat("text ", i + 7); }}});
  }));
  EXPECT_TRUE(throws("MaskFiller", {"top_k", "0"}, [&] { model({"[MASK]"}, {.top_k = 0}); }));
}

}  // namespace
}  // namespace tessera::models
