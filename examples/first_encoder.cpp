// A first encoder: it learns in about a second to write words backwards. Its attention shows how.
//
//     letters -> embeddings + positions -> x + attention(norm(x)) -> x + feed_forward(norm(x))
//             -> norm -> 26 scores
//
// Position i of the output must be the letter at position 11 - i, and only attention moves
// information between positions. So the trained model attends along the anti-diagonal. No line
// of the model in first_encoder.h says so: training finds it. programs/train_reverse.cpp is this
// program with options and HTML pages.
#include <cstdio>
#include <string>
#include <vector>

#include "examples/first_encoder.h"

using namespace tessera;
using namespace tessera::examples;

namespace {

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
  models::TokenClassifier model = make_model();
  train(model);
  const Tensor unseen = random_words(500, 2);
  const Tensor right = eq(argmax(model(unseen), {-1}), reversed(unseen));
  std::printf("\n%.2f %% of the letters of 500 unseen words are correct\n",
              100 * mean(right.to(kFloat64)).item());
  show(model, "transformers");
}
