// An encoder learns a text by guessing what was hidden in it: a masked language model.
//
//   train_masked_lm --text text.txt
//
// A tenth of the text, at its end, is held out. What the model knows of it is measured in bits a
// hidden token; beside it stands what one knows who has only counted the tokens. Options: --help.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <string>
#include <vector>

#include "examples/plan.h"
#include "examples/training.h"
#include "models/models.h"
#include "models/text/utf8.h"
#include "nn/nn.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/ops.h"

namespace {

using namespace tessera;
using text::Vocabulary;

struct MaskedLmOptions {
  std::string text;
  std::string fill;
  std::string unit = "characters";
  index_t length = 32;
  index_t vocabulary = 10000;
};

constexpr double kHeldOut = 0.1;
constexpr index_t kQuickExamples = 256;               // at an epoch's end
constexpr const char* kUnknownSign = "\xef\xbf\xbd";  // U+FFFD, one token for either unit

double bits(double nats) {
  return nats / std::log(2.0);
}

/// The entropy of single tokens in bits: what every guess by frequency alone costs at least.
double unigram_entropy(std::span<const index_t> tokens) {
  std::map<index_t, index_t> counts;
  for (index_t token : tokens) ++counts[token];
  double entropy = 0;
  for (const auto& [token, count] : counts) {
    const double share = static_cast<double>(count) / static_cast<double>(tokens.size());
    entropy -= share * std::log2(share);
  }
  return entropy;
}

/// The labels of the chosen places alone.
Tensor labels_at(const Tensor& labels, const Tensor& places) {
  return index_select(labels.flatten(), 0, places);
}

struct Text {
  Vocabulary vocabulary;
  std::vector<text::Example> train;
  std::vector<text::Example> held_out;
  double held_out_entropy;
};

Text read(const MaskedLmOptions& c, const std::optional<nn::Checkpoint>& resumed) {
  const std::string text = text::read_text(c.text);
  const std::span<const std::string> texts(&text, 1);
  const text::VocabularyOptions limit = {.max_size = c.vocabulary};
  Vocabulary vocabulary = resumed
                              ? Vocabulary::from_text(resumed->text("vocabulary"), resumed->file)
                          : c.unit == "words" ? Vocabulary::of_words(texts, limit)
                                              : Vocabulary::of_characters(texts, limit);
  const std::vector<index_t> tokens = vocabulary.encode(text);
  const auto held = static_cast<std::size_t>(kHeldOut * static_cast<double>(tokens.size()));
  if (held < 2) fail_file(c.text, "it has ", tokens.size(), " tokens, too few to learn from");
  const auto [train, test] =
      std::pair(std::span(tokens).first(tokens.size() - held), std::span(tokens).last(held));
  Text result{std::move(vocabulary), text::token_windows(train, c.length),
              text::token_windows(test, c.length), unigram_entropy(test)};
  std::cout << tokens.size() << ' ' << c.unit << ", " << result.vocabulary.size() << " different; "
            << test.size() << " at the end are held out" << std::endl;
  return result;
}

/// The loss of guessing what is hidden in the chosen examples.
nn::LossSum loss_of(const models::MaskedLm& model, const Text& text,
                    const std::vector<text::Example>& examples, std::span<const index_t> chosen) {
  const text::Batch batch = text::make_batch(examples, chosen);
  const text::MaskedTokens hidden =
      text::mask_tokens(batch.tokens, text.vocabulary.size(), default_rng());
  const Tensor places = text::places_of(hidden.labels);
  return nn::summed_cross_entropy(model({hidden.tokens, batch.lengths}, places),
                                  labels_at(hidden.labels, places));
}

/// The first `count` examples of the held-out text, masked the same way each time.
nn::Examples held_out_examples(const models::MaskedLm& model, const Text& text, index_t count) {
  std::vector<index_t> lengths = text::lengths_of(text.held_out);
  lengths.resize(std::min(lengths.size(), static_cast<std::size_t>(count)));
  return {std::move(lengths), [&](std::span<const index_t> chosen) {
            return loss_of(model, text, text.held_out, chosen);
          }};
}

/// The tokens of a text with blanks. Errors: more than fit; bytes that are not UTF-8.
std::vector<std::string> pieces_of(const std::string& sentence, bool words, index_t max_tokens) {
  require(text::find_invalid_utf8(sentence) == std::string::npos, "--fill", "not UTF-8");
  auto pieces = words ? text::split_words(sentence) : text::split_characters(sentence);
  require(std::ssize(pieces) < max_tokens, "--fill", std::ssize(pieces), " tokens, but at most ",
          max_tokens - 1, " fit: train with a larger --length");
  return pieces;
}

/// The text with every _ replaced: the surest guess first, which then helps with the others.
std::string fill_blanks(const models::MaskedLm& model, const Vocabulary& vocabulary,
                        const std::string& sentence, index_t max_tokens) {
  std::vector<index_t> tokens = {Vocabulary::kCls};
  std::vector<index_t> blanks;
  for (const std::string& piece : pieces_of(sentence, vocabulary.has_words(), max_tokens)) {
    if (piece == "_") blanks.push_back(std::ssize(tokens));
    tokens.push_back(piece == "_" ? Vocabulary::kMask : vocabulary.id(piece));
  }
  while (!blanks.empty()) {
    const Tensor scores = model({from_vector(tokens).unsqueeze(0)}, from_vector(blanks));
    // Special tokens are no guesses.
    const Tensor chances = softmax(scores).slice(1, Vocabulary::kSpecialCount);
    const auto surest = argmax(max(chances, {-1})).item<index_t>();
    const auto guess = argmax(chances.select(0, surest)).item<index_t>();
    tokens[static_cast<std::size_t>(blanks[static_cast<std::size_t>(surest)])] =
        guess + Vocabulary::kSpecialCount;
    blanks.erase(blanks.begin() + surest);
  }
  return vocabulary.decode(std::span(tokens).subspan(1));
}

/// A stretch of the held-out text in which every sixth letter or fourth word is a blank.
std::string blanked(const Text& text) {
  const bool words = text.vocabulary.has_words();
  const index_t step = words ? 4 : 6;
  const std::vector<index_t>& tokens = text.held_out.front().tokens;
  const index_t end = std::min<index_t>(std::ssize(tokens), words ? 30 : 80);
  std::string result;
  for (index_t i = 1; i < end; ++i) {
    const index_t id = tokens[static_cast<std::size_t>(i)];
    const std::string token = id == Vocabulary::kUnknown ? kUnknownSign : text.vocabulary.token(id);
    const bool blank = i % step == 0 && token != "\n" && token != " ";
    result += (words && i > 1 ? " " : "") + (blank ? "_" : token);
  }
  return result;
}

/// Trains to the end; false if it was stopped before.
bool train(const examples::Program& program, const Text& text, models::MaskedLm& model) {
  examples::Lesson lesson = {
      .train = {text::lengths_of(text.train),
                [&](std::span<const index_t> chosen) {
                  return loss_of(model, text, text.train, chosen);
                }},
      .held_out = held_out_examples(model, text, kQuickExamples),
      .digest = examples::digest_of(text.train),
      .keep_best = false,  // all of the held-out text is asked about in the end
      .summary = [](const nn::EpochReport& report) {
        const double loss = report.totals.mean();
        return "loss " + examples::fixed(loss, 4) + "  bits " + examples::fixed(bits(loss), 3) +
               "  held-out bits " + examples::fixed(bits(report.evaluation->totals.mean()), 3);
      }};
  lesson.notes.set("vocabulary", text.vocabulary.to_text());
  return examples::Training(program, model, std::move(lesson)).run();
}

void run(const examples::Program& program, const MaskedLmOptions& c) {
  require(!c.text.empty(), "train_masked_lm", "--text FILE is missing");
  pieces_of(c.fill, c.unit == "words", c.length);  // no error waits for the end
  const Text text = read(c, program.resumed);
  manual_seed(program.options.seed);
  const index_t words = text.vocabulary.size();
  examples::Plan plan = examples::plan_of(program, words, format("--vocabulary ", c.vocabulary));
  const index_t width = program.options.width;
  plan.push_back(
      {"cls.predictions.transform.dense.weight", {width, width}, {format("--width ", width)}});
  examples::check_plan(program, plan);
  examples::check_positions(program, "--length", c.length);
  models::TokenEncoderOptions tokens = examples::token_encoder_options(program.options, words);
  tokens.max_tokens = c.length;
  models::MaskedLm model({.tokens = tokens});
  std::cout << nn::parameter_count(model) << " parameters" << std::endl;
  if (!train(program, text, model)) return;

  const nn::Examples all = held_out_examples(model, text, std::ssize(text.held_out));
  const double loss = nn::evaluate(model, all).mean();
  nn::eval(model);
  const std::string sentence = c.fill.empty() ? blanked(text) : c.fill;
  std::cout << "\nheld-out loss " << examples::fixed(loss, 4) << ", bits per masked token "
            << examples::fixed(bits(loss), 3) << ", unigram entropy "
            << examples::fixed(text.held_out_entropy, 3) << " bits, ratio "
            << examples::fixed(text.held_out_entropy / bits(loss), 2) << "\n\nblanks: " << sentence
            << "\nfilled: " << fill_blanks(model, text.vocabulary, sentence, c.length) << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  MaskedLmOptions c;
  examples::Program program(
      "train_masked_lm", "Learns a text by guessing what was hidden in it.",
      {.layers = 4, .dropout = 0, .epochs = 3, .learning_rate = 2e-3, .warmup = 0.05});
  program.add_file("--text", c.text, "file of UTF-8 text to learn");
  program.add_for_call("--fill", c.fill, "text whose blanks, each a _, are filled at the end");
  program.add("--unit", c.unit, "what a token is", {"characters", "words"});
  program.add("--length", c.length, "tokens of a sequence", {2, 100'000});
  program.add("--vocabulary", c.vocabulary, "most tokens that are told apart",
              {Vocabulary::kSpecialCount + 1, 10'000'000});
  return program.run(argc, argv, [&] { run(program, c); });
}
