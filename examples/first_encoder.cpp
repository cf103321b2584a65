// A first encoder: it learns in about a second to write words backwards. Its attention shows how.
//
//     letters -> embeddings + positions -> x + attention(x) -> x + feed_forward(x) -> 26 scores
//
// The right letter of place i is the letter at place 11 - i, and only attention moves information
// from one place to another. So the trained model must attend along the anti-diagonal; training
// finds that from the loss. programs/train_reverse.cpp is the same with options and pages.
#include <cstdio>
#include <span>
#include <string>
#include <vector>

#include "models/models.h"
#include "nn/nn.h"
#include "tensor/create.h"
#include "tensor/ops/ops.h"

using namespace tessera;

namespace {

constexpr index_t kLetters = 26;
constexpr index_t kLength = 12;
constexpr index_t kWords = 4000;

/// Words of random letters, (count, 12), each letter a number from 0 to 25.
Tensor random_words(index_t count, std::uint64_t stream) {
  Rng rng(0, stream);
  return randint(0, kLetters, {count, kLength}, rng);
}

/// What the model shall write: the letters of each word from the last to the first.
Tensor reversed(const Tensor& words) {
  return words.slice(1, {}, {}, -1);
}

/// One layer with one head: 36,954 parameters, random at first.
models::TokenClassifier make_model() {
  const models::EncoderLayerOptions layer = {.d_model = 64,
                                             .nhead = 1,
                                             .dim_feedforward = 128,
                                             .dropout = 0,
                                             .activation = nn::Activation::kGelu,
                                             .norm_first = true};
  const models::TokenEncoderOptions tokens = {.vocabulary_size = kLetters,
                                              .encoder = {.layers = {layer}, .final_norm = true},
                                              .max_tokens = kLength,
                                              .dropout = 0};
  return models::TokenClassifier({.tokens = tokens, .classes = kLetters, .dropout = 0});
}

/// Five epochs of AdamW; the learning rate rises for a tenth of the steps, then falls to 0.
void train(models::TokenClassifier& model) {
  const Tensor words = random_words(kWords, 1);
  const auto loss = [&](std::span<const index_t> rows) {
    const Tensor batch = index_select(words, 0, from_vector(std::vector(rows.begin(), rows.end())));
    return nn::summed_cross_entropy(model(batch), reversed(batch));
  };
  nn::set_requires_grad(model);
  nn::AdamW optimizer(nn::split_weight_decay(model), {.lr = 3e-3});
  nn::Trainer trainer(
      model, optimizer, {std::vector<index_t>(kWords, kLength), loss},
      {.epochs = 5, .decay = nn::Schedule::Decay::kLinear, .warmup = 0.1, .clip = 1});
  trainer.run({.epoch = [](const nn::EpochReport& report) {
    std::printf("epoch %d, loss %.2f\n", static_cast<int>(report.epoch) + 1, report.totals.mean());
    std::fflush(stdout);
  }});
  nn::eval(model);
}

/// Prints what the model makes of a word, and its attention in percent.
void show(const models::TokenClassifier& model, const std::string& word) {
  const Tensor letters =
      from_vector(std::vector<index_t>(word.begin(), word.end())) - static_cast<index_t>('a');
  Tensor weights;  // (1, heads, 12, 12): row i is the attention of place i to all places
  const nn::Hook reader("**.weights", [&](const nn::HookPoint& point) { weights = point.value; });
  std::string written;
  for (const index_t letter : argmax(model(letters.unsqueeze(0)), {-1}).to_vector<index_t>()) {
    written += static_cast<char>('a' + letter);
  }
  std::printf("\n%s -> %s\n\nAttention in percent, one row per place:\n\n ", word.c_str(),
              written.c_str());
  for (const char letter : word) std::printf("%4c", letter);
  for (index_t i = 0; i < kLength; ++i) {
    std::printf("\n%c", word[static_cast<std::size_t>(i)]);
    for (index_t j = 0; j < kLength; ++j) {
      std::printf("%4.0f", 100 * weights.item_at({0, 0, i, j}));
    }
  }
  std::printf("\n");
}

}  // namespace

int main() {
  manual_seed(0);
  models::TokenClassifier model = make_model();
  train(model);
  const Tensor unseen = random_words(500, 2);
  const Tensor right = eq(argmax(model(unseen), {-1}), reversed(unseen));
  std::printf("\n%.2f %% of the letters of 500 unseen words are right\n",
              100 * mean(right.to(kFloat64)).item());
  show(model, "transformers");
}
