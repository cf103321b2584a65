// A first encoder: it learns in about a second to write words backwards. Its attention shows how.
//
//     letters -> embeddings + positions -> x + attention(norm(x)) -> x + feed_forward(norm(x))
//             -> norm -> 26 scores
//
// Position i of the output must be the letter at position 11 - i, and only attention moves
// information between positions. So the trained model attends along the anti-diagonal. No line
// below says so: training finds it. programs/train_reverse.cpp is this program with options and
// HTML pages.
#include <cstdint>
#include <cstdio>
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

/// Random words, (count, 12), each letter a number from 0 to 25; each stream has its own words.
Tensor random_words(index_t count, std::uint64_t stream) {
  Rng rng(0, stream);
  return randint(0, kLetters, {count, kLength}, rng);
}

/// The targets: each word backwards.
Tensor reversed(const Tensor& words) {
  return words.slice(1, {}, {}, -1);  // step -1 along axis 1
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
  // The sum over all letters of a batch; the trainer divides it by their number.
  const auto loss = [&](const Tensor& inputs, const Tensor& targets) {
    return nn::summed_cross_entropy(model(inputs), targets);
  };
  nn::set_requires_grad(model);
  nn::AdamW optimizer(nn::split_weight_decay(model), {.lr = 3e-3});
  nn::Trainer trainer(
      model, optimizer, nn::examples_of(words, reversed(words), loss),
      {.epochs = 5, .decay = nn::Schedule::Decay::kLinear, .warmup = 0.1, .clip = 1});
  trainer.run({.epoch = [](const nn::EpochReport& report) {
    std::printf("epoch %d, loss %.2f\n", static_cast<int>(report.epoch) + 1, report.totals.mean());
  }});
  nn::eval(model);
}

/// Prints a word, what the model writes for it, and its attention in percent.
void show(const models::TokenClassifier& model, const std::string& word) {
  const Tensor letters =
      from_vector(std::vector<index_t>(word.begin(), word.end())) - static_cast<index_t>('a');
  Tensor weights;  // (1, heads, 12, 12): row i is the attention of position i
  // As long as it lives, the hook gets the weights of each call; ** matches any layer.
  const nn::Hook reader("**.weights", [&](const nn::HookPoint& point) { weights = point.value; });
  std::string written;
  for (const index_t letter : argmax(model(letters.unsqueeze(0)), {-1}).to_vector<index_t>()) {
    written += static_cast<char>('a' + letter);
  }
  std::printf("\n%s -> %s\n\nAttention in percent, one row per position:\n\n ", word.c_str(),
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
