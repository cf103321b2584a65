// Trains an encoder to write words backwards; its attention shows how.
//
// Output i must be the letter at position n - 1 - i, so the model must attend to that
// position: after training, attention is on the anti-diagonal of the map. This is not part of the
// program.
//
// The words are random letters; those of the test are never trained on. Options: --help.
#include <iostream>
#include <numeric>
#include <string>
#include <string_view>
#include <vector>

#include <tessera/models/models.h>
#include <tessera/models/pages/attention_page.h>
#include <tessera/models/runs/text_examples.h>
#include <tessera/nn/nn.h>
#include <tessera/tensor/create.h>
#include <tessera/tensor/format.h>
#include <tessera/tensor/ops/ops.h>
#include "examples/programs/confusion_counter.h"
#include "examples/programs/training.h"

namespace {

using namespace tessera;

constexpr index_t kLetters = 26;
constexpr index_t kTestWords = 500;
constexpr std::string_view kShownWord = "transformers";

/// The letters of a word, each as a text.
std::vector<std::string> letters_of(const Tensor& word) {
  std::vector<std::string> letters;
  for (const index_t letter : word.to_vector<index_t>()) {
    letters.emplace_back(1, static_cast<char>('a' + letter));
  }
  return letters;
}

std::string word_of(const Tensor& word) {
  const std::vector<std::string> letters = letters_of(word);
  return std::accumulate(letters.begin(), letters.end(), std::string());
}

/// Random words (count, length).
Tensor random_words(index_t count, index_t length, Rng rng) {
  return randint(0, kLetters, {count, length}, rng);
}

std::vector<text::Example> examples_of(const Tensor& words) {
  std::vector<text::Example> examples;
  for (index_t i = 0; i < words.size(0); ++i) {
    examples.push_back({.ids = words.select(0, i).to_vector<index_t>()});
  }
  return examples;
}

Tensor backwards(const Tensor& words) {
  return words.slice(1, {}, {}, -1);
}

/// Prints the trained model's result for one word (1, T), and its attention.
void show(const models::TokenClassifier& model, const Tensor& word) {
  const Tensor letters = argmax(model(word), {-1}).select(0, 0);
  std::cout << '\n' << word_of(word) << " -> " << word_of(letters) << '\n';
  const index_t layers = std::ssize(model.token_encoder.encoder.layers);
  if (layers == 0) return;
  const models::EncoderResult result =
      model.token_encoder.with_attentions({word}, {.layers = {{layers - 1}}, .averaged = true});
  const Tensor map = result.attentions[0].select(0, 0);
  std::cout << "\nAttention of the last layer in percent (rows attend to columns):\n\n"
            << pages::attention_text(map, letters_of(word)) << "\non the anti-diagonal: "
            << decimals(100 * mean(backwards(map).diagonal()).item(), 0) << " %" << std::endl;
}

}  // namespace

int main(int argc, char** argv) {
  index_t length = 12;
  index_t count = 4000;
  examples::TrainingCommand command("train_reverse", "Trains an encoder to write words backwards.",
                                    {.layers = 1,
                                     .width = 64,
                                     .heads = 1,
                                     .feed_forward = 128,
                                     .dropout = 0,
                                     .epochs = 5,
                                     .learning_rate = 3e-3});
  command.add("--length", length, "letters per word", {2, 64}, examples::kKept);
  command.add("--words", count, "training words", {1, 1'000'000}, examples::kKept);
  return command.run(argc, argv, [&] {
    const examples::TrainingOptions& o = command.options;
    command.check_size(kLetters, length);
    models::TokenEncoderOptions tokens = examples::token_encoder_options(o, kLetters);
    tokens.max_positions = length;
    manual_seed(o.seed);
    models::TokenClassifier model(
        {.token_encoder = tokens, .num_labels = kLetters, .dropout = o.dropout});
    std::cout << count << " words of " << length << " letters, " << nn::parameter_count(model)
              << " parameters" << std::endl;

    const Tensor unseen = random_words(kTestWords, length, Rng(o.seed, 2));
    const auto loss = [&](const text::Batch& batch) {
      return nn::summed_cross_entropy(model(batch.ids), backwards(batch.ids));
    };
    const auto confusion = [&] {
      examples::ConfusionCounter counts(letters_of(arange(kLetters)));
      counts.add(backwards(unseen), model(unseen));
      return std::vector{counts.for_page("Letters of unseen words")};
    };
    const auto words = examples_of(random_words(count, length, Rng(o.seed, 1)));
    if (!command.train(model, {.train = runs::batched(words, loss), .confusion = confusion}))
      return;

    const Tensor right = eq(argmax(model(unseen), {-1}), backwards(unseen));
    std::cout << decimals(100 * mean(right.to(kFloat64)).item(), 2) << " % of the letters of "
              << kTestWords << " unseen words are correct\n";
    std::vector<index_t> shown;
    for (const char letter : kShownWord) shown.push_back(letter - 'a');
    const Tensor word =
        length == std::ssize(shown) ? from_vector(shown).unsqueeze(0) : unseen.slice(0, 0, 1);
    show(model, word);
  });
}
