// Trains an encoder to predict masked tokens of a text: a masked language model.
//
//   train_masked_lm --text text.txt
//
// The last tenth of the text is held out. The loss there is printed in bits per masked token, next
// to the entropy of single tokens. Options: --help.
#include <algorithm>
#include <cmath>
#include <iostream>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <sstream>
#include <string>
#include <vector>

#include <tessera/models/models.h>
#include <tessera/models/runs/text_examples.h>
#include <tessera/models/text/masked_tokens.h>
#include <tessera/models/text/text_file.h>
#include <tessera/models/text/tokenizers.h>
#include <tessera/models/text/utf8.h>
#include <tessera/nn/nn.h>
#include <tessera/tensor/create.h>
#include <tessera/tensor/error.h>
#include <tessera/tensor/format.h>
#include <tessera/tensor/ops/ops.h>
#include "examples/programs/training.h"

namespace {

using namespace tessera;
using text::Tokenizer;

struct Options {
  std::string text;
  std::string fill;
  std::string tokenizer = "characters";
  index_t length = 32;
  index_t vocab_size = 10000;
};

constexpr double kHeldOut = 0.1;
constexpr std::size_t kQuickExamples = 256;           // evaluated at the end of an epoch
constexpr const char* kUnknownSign = "\xef\xbf\xbd";  // U+FFFD

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

struct Text {
  std::unique_ptr<Tokenizer> tokenizer;
  std::vector<text::Example> train;
  std::vector<text::Example> held_out;
  double held_out_entropy;
};

Text read(const Options& c, const std::optional<nn::Checkpoint>& resumed) {
  const std::string text = text::read_text(c.text);
  auto tokenizer = resumed ? text::tokenizer_from_text(resumed->text("vocabulary"), resumed->file)
                           : examples::named_tokenizer(c.tokenizer, std::span(&text, 1),
                                                       {.max_size = c.vocab_size});
  const std::vector<index_t> tokens = tokenizer->encode(text, {.add_special_tokens = false}).ids;
  const auto held = static_cast<std::size_t>(kHeldOut * static_cast<double>(tokens.size()));
  if (held < 2) {
    fail_file(c.text, "must have at least ", 2 / kHeldOut, " tokens, got ", tokens.size());
  }
  const auto train = std::span(tokens).first(tokens.size() - held);
  const auto test = std::span(tokens).last(held);
  std::cout << tokens.size() << ' '
            << (examples::has_whole_units(c.tokenizer) ? c.tokenizer : "tokens") << ", "
            << tokenizer->size() << " different; " << held << " at the end are held out"
            << std::endl;
  const auto cls = tokenizer->special().cls;
  return {std::move(tokenizer), text::token_windows(train, c.length, cls),
          text::token_windows(test, c.length, cls), unigram_entropy(test)};
}

/// Examples whose loss is that of predicting masked tokens; held-out ones are masked the same way
/// each time.
nn::Examples examples_of(const models::MaskedLM& model, const Tokenizer& tokenizer,
                         std::span<const text::Example> examples) {
  const auto loss = [&](const text::Batch& batch) {
    const text::MaskedTokens hidden =
        text::mask_tokens(batch.ids, tokenizer.special(), tokenizer.size(), default_rng());
    const Tensor places = text::places_of(hidden.labels);
    return nn::summed_cross_entropy(model({hidden.ids, batch.lengths}, places),
                                    index_select(hidden.labels.flatten(), 0, places));
  };
  return runs::batched({examples.begin(), examples.end()}, loss);
}

/// **Errors**: too many tokens; bytes that are not UTF-8.
void check_fill(const std::string& sentence, const Tokenizer& tokenizer, index_t max_tokens) {
  require(text::find_invalid_utf8(sentence) == std::string::npos, "--fill", "text must be UTF-8");
  const index_t count = std::ssize(tokenizer.encode(sentence).ids);
  require(count <= max_tokens, "--fill", "text must have at most ", max_tokens - 1, " tokens, got ",
          count - 1, "; train with a larger --length");
}

/// The tokens of a text after [CLS], and which of them are masked: each _ is a [MASK].
struct BlankedTokens {
  std::vector<index_t> tokens;
  std::vector<index_t> blanks;
};

BlankedTokens with_blanks(const Tokenizer& tokenizer, const std::string& sentence,
                          index_t max_tokens) {
  const text::Encoding encoded = tokenizer.encode(sentence, {.max_length = max_tokens});
  BlankedTokens result = {.tokens = encoded.ids, .blanks = {}};
  for (std::size_t i = 0; i < encoded.ids.size(); ++i) {
    if (text::text_at(sentence, encoded.offsets[i]) != "_") continue;
    result.blanks.push_back(static_cast<index_t>(i));
    result.tokens[i] = tokenizer.special().mask.value();
  }
  return result;
}

/// The text with every _ replaced: the most certain prediction first, which then helps with the
/// others.
std::string fill_blanks(const models::MaskedLM& model, const Tokenizer& tokenizer,
                        BlankedTokens text) {
  auto& [tokens, blanks] = text;
  const Tensor is_special = text::special_mask(arange(tokenizer.size()), tokenizer.special());
  while (!blanks.empty()) {
    const Tensor scores = model({from_vector(tokens).unsqueeze(0)}, from_vector(blanks));
    const Tensor chances = where(is_special, -1.0, softmax(scores));  // not predicted
    const auto surest = argmax(max(chances, {-1})).item<index_t>();
    const auto guess = argmax(chances.select(0, surest)).item<index_t>();
    tokens[static_cast<std::size_t>(blanks[static_cast<std::size_t>(surest)])] = guess;
    blanks.erase(blanks.begin() + surest);
  }
  if (tokens.back() == tokenizer.special().sep) tokens.pop_back();
  return tokenizer.decode(std::span(tokens).subspan(1));
}

/// The first tokens of the held-out text, in which every sixth letter or fourth word is masked.
std::string blanked(const Text& text, const std::string& kind) {
  const Tokenizer& tokenizer = *text.tokenizer;
  const bool letters = kind == "characters";
  const std::span<const index_t> all = std::span(text.held_out.front().ids).subspan(1);
  const auto tokens = all.first(std::min<std::size_t>(all.size(), letters ? 79 : 29));
  std::vector<std::string> units;
  if (examples::has_whole_units(kind)) {
    for (const index_t id : tokens) {
      const bool unknown = id == tokenizer.special().unknown;  // has several letters
      units.emplace_back(unknown ? kUnknownSign : tokenizer.token(id));
    }
  } else {
    std::istringstream words(tokenizer.decode_text(tokens));
    for (std::string word; words >> word;) units.push_back(word);
  }
  std::string result;
  for (std::size_t i = 1; i <= units.size(); ++i) {
    const std::string& unit = units[i - 1];
    const bool blank = i % (letters ? 6 : 4) == 0 && unit != "\n" && unit != " ";
    result += (letters || i == 1 ? "" : " ") + (blank ? "_" : unit);
  }
  return result;
}

void run(const examples::TrainingCommand& command, const Options& c) {
  require(!c.text.empty(), "train_masked_lm", "--text FILE must be given, got none");
  const Text text = read(c, command.resumed);
  const Tokenizer& tokenizer = *text.tokenizer;
  check_fill(c.fill, tokenizer, c.length);  // before the training
  manual_seed(command.options.seed);
  command.check_size(tokenizer.size() + command.options.width, c.length);
  models::TokenEncoderOptions tokens =
      examples::token_encoder_options(command.options, tokenizer.size());
  tokens.max_positions = c.length;
  models::MaskedLM model({.token_encoder = tokens});
  std::cout << nn::parameter_count(model) << " parameters" << std::endl;

  const auto quick = std::span(text.held_out).first(std::min(text.held_out.size(), kQuickExamples));
  examples::Training training = {
      .train = examples_of(model, tokenizer, text.train),
      .held_out = examples_of(model, tokenizer, quick),
      .keep_best = false,  // the whole held-out text is evaluated at the end
      .summary = [](const nn::EpochReport& report) {
        const double loss = report.totals.mean();
        return "loss " + decimals(loss, 4) + "  bits " + decimals(bits(loss), 3) +
               "  held-out bits " + decimals(bits(report.evaluation->totals.mean()), 3);
      }};
  training.notes.set("vocabulary", tokenizer.to_text());
  if (!command.train(model, training)) return;

  const double loss = nn::evaluate(model, examples_of(model, tokenizer, text.held_out)).mean();
  const std::string sentence = c.fill.empty() ? blanked(text, c.tokenizer) : c.fill;
  const BlankedTokens blanks = with_blanks(tokenizer, sentence, c.length);
  std::cout << "\nheld-out loss " << decimals(loss, 4) << ", bits per masked token "
            << decimals(bits(loss), 3) << ", unigram entropy " << decimals(text.held_out_entropy, 3)
            << " bits, ratio " << decimals(text.held_out_entropy / bits(loss), 2)
            << "\n\nmasked: " << sentence << "\nfilled: " << fill_blanks(model, tokenizer, blanks)
            << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  Options c;
  examples::TrainingCommand command(
      "train_masked_lm", "Trains a masked language model on a text.",
      {.layers = 4, .dropout = 0, .epochs = 3, .learning_rate = 2e-3, .warmup = 0.05});
  command.add_input("--text", c.text, "training text, a UTF-8 file");
  command.add("--fill", c.fill, "text with masked tokens (each _) to predict at the end");
  command.add_input("--tokenizer", c.tokenizer, examples::kTokenizerHelp, examples::kKept);
  command.add("--length", c.length, "tokens per sequence", {2, 100'000}, examples::kKept);
  command.add("--vocabulary-size", c.vocab_size, "maximum vocabulary size", {5, 10'000'000},
              examples::kKept);  // at least the special tokens and one more
  return command.run(argc, argv, [&] { run(command, c); });
}
