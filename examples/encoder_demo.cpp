// A sentence through a transformer encoder, and what attends to what.
//
// The weights are random, so the map shows how attention works, not what a trained model has
// learned: each row is one word's attention over all words and adds up to 1.
#include <algorithm>
#include <cstdio>
#include <map>
#include <sstream>
#include <string>
#include <vector>

#include "models/models.h"
#include "nn/nn.h"
#include "tensor/create.h"
#include "tensor/error.h"
#include "tensor/ops/ops.h"

namespace {

using namespace tessera;

std::vector<std::string> split_words(const std::string& sentence) {
  std::istringstream in(sentence);
  std::vector<std::string> words;
  for (std::string word; in >> word;) words.push_back(word);
  return words;
}

/// Numbers the words in the order in which they first appear: a vocabulary of this sentence alone.
Tensor number_words(const std::vector<std::string>& words) {
  std::map<std::string, index_t> vocabulary;
  std::vector<index_t> ids;
  for (const std::string& word : words) {
    ids.push_back(vocabulary.try_emplace(word, std::ssize(vocabulary)).first->second);
  }
  return from_vector(ids).unsqueeze(0);  // a batch of one
}

/// Prints one head's weights: a row for each word, in percent, with a shade for each cell.
void print_attention_map(const std::vector<std::string>& words, const Tensor& weights) {
  constexpr const char* kShades[] = {" ", "░", "▒", "▓", "█"};
  std::printf("%9s", "");
  for (const std::string& word : words) std::printf("%8s", word.c_str());
  std::printf("\n");
  for (index_t i = 0; i < std::ssize(words); ++i) {
    std::printf("%9s", words[static_cast<std::size_t>(i)].c_str());
    for (index_t j = 0; j < std::ssize(words); ++j) {
      const double percent = 100 * weights.item_at({i, j});
      const char* shade = kShades[std::min(4, static_cast<int>(percent / 8))];
      std::printf("  %s%s%3.0f%%", shade, shade, percent);
    }
    std::printf("\n");
  }
}

}  // namespace

int main() {
  const std::vector<std::string> words = split_words("the cat chased the mouse because it moved");
  const Tensor ids = number_words(words);

  manual_seed(7);
  nn::Embedding embed(16, 32);
  nn::PositionalEncoding add_positions({.d_model = 32});
  models::Encoder encoder({
      .layer = {.d_model = 32, .nhead = 4, .dim_feedforward = 64, .norm_first = true},
      .num_layers = 2,
      .final_norm = true,
  });
  nn::eval(encoder);

  const Tensor x = add_positions(embed(ids));
  const models::EncoderTrace trace = encoder.with_weights(x);

  std::printf("%zu words -> embeddings %s -> encoder of %lld parameters -> output %s\n\n",
              words.size(), format(x.shape()).c_str(),
              static_cast<long long>(nn::parameter_count(encoder)),
              format(trace.output.shape()).c_str());
  std::printf("Attention of layer 1, head 1 (rows attend to columns):\n\n");
  print_attention_map(words, trace.weights[0].select(0, 0).select(0, 0));
  return 0;
}
