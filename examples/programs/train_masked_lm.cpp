// Trains an encoder to predict hidden parts of a text: a masked language model.
//
//   train_masked_lm --text text.txt
//
// The last tenth of the text is held out. The loss there is printed in bits per hidden token, next
// to the entropy of single tokens. Options: --help.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <sstream>
#include <string>
#include <vector>

#include "examples/programs/attention.h"
#include "examples/programs/training.h"
#include "models/models.h"
#include "models/runs/text_examples.h"
#include "models/text/utf8.h"
#include "nn/nn.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/format.h"
#include "tensor/ops/ops.h"

namespace {

using namespace tessera;
using text::Tokenizer;

struct TrainMaskedLmOptions {
  std::string text;
  std::string fill;
  std::string tokenizer = "characters";
  index_t length = 32;
  index_t vocabulary_size = 10000;
  examples::AttentionOptions attention;
};

constexpr double kHeldOut = 0.1;
constexpr index_t kQuickExamples = 256;               // evaluated at the end of an epoch
constexpr const char* kUnknownSign = "\xef\xbf\xbd";  // U+FFFD, one token for either unit

double bits(double nats) {
  return nats / std::log(2.0);
}

/// The entropy of single tokens in bits: the lowest loss of a prediction by frequency only.
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

/// The labels at the chosen positions only.
Tensor labels_at(const Tensor& labels, const Tensor& places) {
  return index_select(labels.flatten(), 0, places);
}

text::MaskedTokens hide(const text::Batch& batch, const Tokenizer& tokenizer, Rng& rng) {
  return text::mask_tokens(batch.ids, tokenizer.special(), tokenizer.size(), rng);
}

struct Text {
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<text::Example> train;
  std::vector<text::Example> held_out;
  double held_out_entropy;
};

Text read(const TrainMaskedLmOptions& c, const std::optional<nn::Checkpoint>& resumed) {
  const std::string text = text::read_text(c.text);
  const std::span<const std::string> texts(&text, 1);
  const text::VocabularyOptions limit = {.max_size = c.vocabulary_size};
  auto tokenizer = resumed ? text::tokenizer_from_text(resumed->text("vocabulary"), resumed->file)
                           : examples::named_tokenizer(c.tokenizer, texts, limit);
  const std::vector<index_t> tokens = tokenizer->encode(text, {.add_special = false}).ids;
  const auto held = static_cast<std::size_t>(kHeldOut * static_cast<double>(tokens.size()));
  if (held < 2)
    fail_file(c.text, "must have at least ", 2 / kHeldOut, " tokens, got ", tokens.size());
  const auto [train, test] =
      std::pair(std::span(tokens).first(tokens.size() - held), std::span(tokens).last(held));
  const auto cls = tokenizer->special().cls;
  Text result{std::move(tokenizer), text::token_windows(train, c.length, cls),
              text::token_windows(test, c.length, cls), unigram_entropy(test)};
  std::cout << tokens.size() << ' '
            << (examples::has_whole_units(c.tokenizer) ? c.tokenizer : "tokens") << ", "
            << result.tokenizer->size() << " different; " << test.size()
            << " at the end are held out" << std::endl;
  return result;
}

/// The loss of predicting the hidden tokens of a batch.
nn::LossSum loss_of(const models::MaskedLm& model, const Text& text, const text::Batch& batch) {
  const text::MaskedTokens hidden = hide(batch, *text.tokenizer, default_rng());
  const Tensor places = text::places_of(hidden.labels);
  return nn::summed_cross_entropy(model({hidden.ids, batch.lengths}, places),
                                  labels_at(hidden.labels, places));
}

/// The first `count` examples of the held-out text, masked the same way each time.
nn::Examples held_out_examples(const models::MaskedLm& model, const Text& text, index_t count) {
  const auto first = std::span(text.held_out)
                         .first(std::min(text.held_out.size(), static_cast<std::size_t>(count)));
  return runs::batched({first.begin(), first.end()},
                       [&](const text::Batch& batch) { return loss_of(model, text, batch); });
}

/// A text with blanks, after [CLS]. Errors: too many tokens; bytes that are not UTF-8.
text::Encoding encode_blanks(const std::string& sentence, const Tokenizer& tokenizer,
                             index_t max_tokens) {
  require(text::find_invalid_utf8(sentence) == std::string::npos, "--fill", "text must be UTF-8");
  text::Encoding encoded = tokenizer.encode(sentence);
  require(std::ssize(encoded.ids) <= max_tokens, "--fill", "text must have at most ",
          max_tokens - 1, " tokens, got ", std::ssize(encoded.ids) - 1,
          "; train with a larger --length");
  return encoded;
}

/// The tokens of a text, and which of them are blanks: each _ is a [MASK].
struct BlankedTokens {
  std::vector<index_t> tokens;
  std::vector<index_t> blanks;
};

BlankedTokens with_blanks(const Tokenizer& tokenizer, const std::string& sentence,
                          index_t max_tokens) {
  const text::Encoding encoded = tokenizer.encode(sentence, {.max_length = max_tokens});
  BlankedTokens result = {.tokens = encoded.ids, .blanks = {}};
  for (std::size_t i = 0; i < encoded.ids.size(); ++i) {
    const text::Span at = encoded.offsets[i];
    if (at.end != at.begin + 1 || sentence[static_cast<std::size_t>(at.begin)] != '_') continue;
    result.blanks.push_back(static_cast<index_t>(i));
    result.tokens[i] = tokenizer.special().mask.value();
  }
  return result;
}

/// The text with every _ replaced: the most certain prediction first, which then helps with the
/// others.
std::string fill_blanks(const models::MaskedLm& model, const Tokenizer& tokenizer,
                        const std::string& sentence, index_t max_tokens) {
  const text::SpecialTokens& special = tokenizer.special();
  auto [tokens, blanks] = with_blanks(tokenizer, sentence, max_tokens);
  const Tensor is_special = text::special_mask(arange(tokenizer.size()), special);
  while (!blanks.empty()) {
    const Tensor scores = model({from_vector(tokens).unsqueeze(0)}, from_vector(blanks));
    const Tensor chances = where(is_special, -1.0, softmax(scores));  // not predicted
    const auto surest = argmax(max(chances, {-1})).item<index_t>();
    const auto guess = argmax(chances.select(0, surest)).item<index_t>();
    tokens[static_cast<std::size_t>(blanks[static_cast<std::size_t>(surest)])] = guess;
    blanks.erase(blanks.begin() + surest);
  }
  if (tokens.back() == special.sep) tokens.pop_back();
  return tokenizer.decode(std::span(tokens).subspan(1));
}

/// The tokens in which every sixth letter or fourth word is a blank.
std::string blanked_units(const Text& text, std::span<const index_t> tokens, bool words) {
  const index_t step = words ? 4 : 6;
  std::string result;
  for (index_t i = 1; i <= std::ssize(tokens); ++i) {
    const index_t id = tokens[static_cast<std::size_t>(i - 1)];
    const bool unknown = id == text.tokenizer->special().unknown;
    const std::string token(unknown ? kUnknownSign : text.tokenizer->token(id));
    const bool blank = i % step == 0 && token != "\n" && token != " ";
    result += (words && i > 1 ? " " : "") + (blank ? "_" : token);
  }
  return result;
}

/// The text in which every fourth word is a blank.
std::string blanked_words(const std::string& text) {
  std::istringstream words(text);
  std::string result;
  index_t count = 0;
  for (std::string word; words >> word;) {
    if (++count > 1) result += ' ';
    result += count % 4 == 0 ? "_" : word;
  }
  return result;
}

/// A part of the held-out text with blanks.
std::string blanked(const Text& text, const std::string& tokenizer) {
  const std::span<const index_t> tokens = std::span(text.held_out.front().ids).subspan(1);
  const auto first = [&](std::size_t most) { return tokens.first(std::min(tokens.size(), most)); };
  if (!examples::has_whole_units(tokenizer)) {
    return blanked_words(text.tokenizer->decode_text(first(29)));
  }
  const bool words = tokenizer == "words";
  return blanked_units(text, first(words ? 29 : 79), words);
}

/// Trains to the end; returns false if it was stopped before.
bool train(const examples::Program& program, const Text& text, models::MaskedLm& model) {
  examples::TrainingTask task = {
      .train = runs::batched(text.train,
                             [&](const text::Batch& batch) { return loss_of(model, text, batch); }),
      .held_out = held_out_examples(model, text, kQuickExamples),
      .keep_best = false,  // the whole held-out text is evaluated at the end
      .summary = [](const nn::EpochReport& report) {
        const double loss = report.totals.mean();
        return "loss " + decimals(loss, 4) + "  bits " + decimals(bits(loss), 3) +
               "  held-out bits " + decimals(bits(report.evaluation->totals.mean()), 3);
      }};
  task.notes.set("vocabulary", text.tokenizer->to_text());
  return examples::Training(program, model, std::move(task)).run();
}

void run(const examples::Program& program, const TrainMaskedLmOptions& c) {
  require(!c.text.empty(), "train_masked_lm", "--text FILE must be given, got none");
  const Text text = read(c, program.resumed);
  encode_blanks(c.fill, *text.tokenizer, c.length);  // checks --fill before the training
  manual_seed(program.options.seed);
  const index_t words = text.tokenizer->size();
  examples::check_size(program, words + program.options.width, c.length);
  models::TokenEncoderOptions tokens = examples::token_encoder_options(program.options, words);
  tokens.max_tokens = c.length;
  models::MaskedLm model({.tokens = tokens});
  c.attention.check(model.encode.encoder);
  std::cout << nn::parameter_count(model) << " parameters" << std::endl;
  if (!train(program, text, model)) return;

  const nn::Examples all = held_out_examples(model, text, std::ssize(text.held_out));
  const double loss = nn::evaluate(model, all).mean();
  nn::eval(model);
  const std::string sentence = c.fill.empty() ? blanked(text, c.tokenizer) : c.fill;
  std::cout << "\nheld-out loss " << decimals(loss, 4) << ", bits per masked token "
            << decimals(bits(loss), 3) << ", unigram entropy " << decimals(text.held_out_entropy, 3)
            << " bits, ratio " << decimals(text.held_out_entropy / bits(loss), 2)
            << "\n\nblanks: " << sentence
            << "\nfilled: " << fill_blanks(model, *text.tokenizer, sentence, c.length) << std::endl;
  const Tensor shown = from_vector(with_blanks(*text.tokenizer, sentence, c.length).tokens);
  examples::write_attention(c.attention,
                            {.about = program.name(),
                             .encoder = model.encode,
                             .count = 1,
                             .read = [&](index_t) { return models::Tokens{shown.unsqueeze(0)}; },
                             .token = examples::token_names(*text.tokenizer)});
}

}  // namespace

int main(int argc, char** argv) {
  TrainMaskedLmOptions c;
  examples::Program program(
      "train_masked_lm", "Trains a masked language model on a text.",
      {.layers = 4, .dropout = 0, .epochs = 3, .learning_rate = 2e-3, .warmup = 0.05});
  program.add_input("--text", c.text, "training text, a UTF-8 file");
  program.add("--fill", c.fill, "text with blanks (each _) to fill at the end");
  program.add_input("--tokenizer", c.tokenizer, examples::kTokenizerHelp).kept();
  program.add("--length", c.length, "tokens per sequence", {2, 100'000}).kept();
  program.add("--vocabulary-size", c.vocabulary_size, "maximum vocabulary size", {5, 10'000'000})
      .kept();  // the special tokens and one more
  c.attention.add_to(program);
  return program.run(argc, argv, [&] { run(program, c); });
}
