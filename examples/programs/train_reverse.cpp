// Trains an encoder to write words backwards; its attention shows how.
//
// Place i of the output must be the letter at place n - 1 - i, so the model must attend to that
// place: after training, attention is on the anti-diagonal of the map. This is not part of the
// program.
//
// The words are random letters; those of the test are never trained on. Options: --help.
#include <cstdio>
#include <iostream>
#include <string>
#include <vector>

#include "examples/programs/attention.h"
#include "examples/programs/confusion_counter.h"
#include "examples/programs/training.h"
#include "models/models.h"
#include "models/pages/attention_page.h"
#include "models/runs/text_examples.h"
#include "nn/nn.h"
#include "tensor/create.h"
#include "tensor/ops/ops.h"

namespace {

using namespace tessera;

constexpr index_t kLetters = 26;
constexpr index_t kTestWords = 500;
constexpr const char* kShownWord = "transformers";

std::string word_of(std::span<const index_t> letters) {
  std::string word;
  for (index_t letter : letters) word += static_cast<char>('a' + letter);
  return word;
}

std::vector<index_t> letters_of(const std::string& word) {
  std::vector<index_t> letters;
  for (char c : word) letters.push_back(c - 'a');
  return letters;
}

std::vector<text::Example> random_words(index_t count, index_t length, Rng rng) {
  const std::vector<index_t> letters =
      randint(0, kLetters, {count * length}, rng).to_vector<index_t>();
  std::vector<text::Example> words;
  for (auto at = letters.begin(); at != letters.end(); at += length) {
    words.push_back({.ids = {at, at + length}});
  }
  return words;
}

/// The number of letters in the scores (B, T, 26) that equal the words (B, T) backwards.
index_t count_correct(const Tensor& scores, const Tensor& words) {
  return sum(eq(argmax(scores, {-1}), words.slice(1, {}, {}, -1))).item<index_t>();
}

/// The confusion matrix of letters, for --report.
pages::ConfusionMatrix letter_counts(const models::TokenClassifier& model, const Tensor& words) {
  examples::ConfusionCounter counts(kLetters);
  counts.add(words.slice(1, {}, {}, -1), model(words));
  std::vector<std::string> names;
  for (char letter = 'a'; letter <= 'z'; ++letter) names.emplace_back(1, letter);
  return counts.for_page("Letters of unseen words", names);
}

std::vector<std::string> letters_alone(const std::string& word) {
  std::vector<std::string> letters;
  for (const char c : word) letters.emplace_back(1, c);
  return letters;
}

/// Prints the trained model's result for one word, and its attention.
void show(const models::TokenClassifier& model, const std::string& word) {
  const Tensor tokens = from_vector(letters_of(word)).unsqueeze(0);
  const Tensor letters = argmax(model(tokens), {-1}).select(0, 0);
  const index_t layers = std::ssize(model.encode.encoder.layers);
  std::printf("\n%s -> %s\n", word.c_str(), word_of(letters.to_vector<index_t>()).c_str());
  if (layers == 0) return;
  const models::EncoderResult trace =
      model.encode.with_weights({tokens}, {.layers = {{layers - 1}}, .averaged = true});
  const Tensor map = trace.weights[0].select(0, 0);
  const double mirrored = mean(map.slice(1, {}, {}, -1).diagonal()).item();
  std::printf("\nAttention of the last layer in percent (rows look at columns):\n\n");
  std::printf("%s", pages::attention_text(map, letters_alone(word)).c_str());
  std::printf("\non the anti-diagonal: %.0f %%\n", 100 * mirrored);
  std::fflush(stdout);
}

}  // namespace

int main(int argc, char** argv) {
  index_t length = 12;
  index_t count = 4000;
  examples::Program program("train_reverse", "Trains an encoder to write words backwards.",
                            {.layers = 1,
                             .width = 64,
                             .heads = 1,
                             .feed_forward = 128,
                             .dropout = 0,
                             .epochs = 5,
                             .learning_rate = 3e-3});
  program.add("--length", length, "letters per word", {2, 64}).kept();
  program.add("--words", count, "training words", {1, 1'000'000}).kept();
  examples::AttentionOptions attention;
  attention.add_to(program);
  return program.run(argc, argv, [&] {
    const examples::TrainingOptions& o = program.options;
    examples::check_size(program, kLetters, length);
    models::TokenEncoderOptions tokens = examples::token_encoder_options(o, kLetters);
    tokens.max_tokens = length;
    const auto words = random_words(count, length, Rng(o.seed, 1));
    const auto test = random_words(kTestWords, length, Rng(o.seed, 2));

    manual_seed(o.seed);
    models::TokenClassifier model({.tokens = tokens, .classes = kLetters, .dropout = o.dropout});
    attention.check(model.encode.encoder);
    std::cout << count << " words of " << length << " letters, " << nn::parameter_count(model)
              << " parameters" << std::endl;

    const auto loss = [&](const text::Batch& batch) {
      return nn::summed_cross_entropy(model(batch.ids), batch.ids.slice(1, {}, {}, -1));
    };
    examples::Training training(program, model, {.train = runs::batched(words, loss)});
    if (!training.run()) return;

    nn::eval(model);
    std::vector<index_t> all(test.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<index_t>(i);
    const Tensor unseen = text::make_batch(test, all).ids;
    const auto places = static_cast<double>(unseen.count());
    std::printf("%.2f %% of the letters of %lld unseen words are right\n",
                100 * static_cast<double>(count_correct(model(unseen), unseen)) / places,
                static_cast<long long>(kTestWords));
    if (training.has_report()) training.report(letter_counts(model, unseen));
    const std::string shown = length == 12 ? kShownWord : word_of(test.front().ids);
    show(model, shown);
    const models::Tokens word = {from_vector(letters_of(shown)).unsqueeze(0)};
    examples::write_attention(
        attention,
        {.about = program.name(),
         .encoder = model.encode,
         .count = 1,
         .read = [&](index_t) { return word; },
         .token = [](index_t id) { return std::string(1, static_cast<char>('a' + id)); }});
  });
}
