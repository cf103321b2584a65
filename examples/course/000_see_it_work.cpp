// See it work: a model learns in one second to write words backwards, and then loses one part at a
// time.
//
//     letters -> embeddings + positions -> x + attention(x) -> norm -> feed-forward -> 26 scores
//
// The correct letter of position i is at position 11 - i, so the model must attend there. The
// model's code does not say so; training finds it from the loss.
//
//   000_see_it_work [FOLDER]     prints; draws FOLDER/000_attention.svg
//
// Model and training are those of ../first_encoder.h; programs/train_reverse.cpp has options.
#include <cstdio>
#include <string>
#include <vector>

#include <tessera/models/models.h>
#include "examples/course/by_hand.h"
#include "examples/course/example.h"
#include "examples/course/pictures.h"
#include "examples/first_encoder.h"

using namespace tessera;
using namespace tessera::examples;

namespace {

const std::string kShown = "transformers";

/// The letters of kShown as numbers from 0 to 25, (1, 12).
Tensor shown_letters() {
  std::vector<index_t> letters(kShown.begin(), kShown.end());
  return from_vector(letters).unsqueeze(0) - static_cast<index_t>('a');
}

/// Row i: the attention of position i of kShown to all positions.
Matrix attention_map(const models::TokenClassifier& model) {
  Tensor weights;
  const nn::Hook reader("**.weights", [&](const nn::HookPoint& point) { weights = point.value; });
  model(shown_letters());
  return weights.select(0, 0).select(0, 0);
}

/// The model's present result: the word backwards, and the correct letters in 500 unseen words.
void report(const char* title, const models::TokenClassifier& model) {
  const Tensor unseen = random_words(500, 2);
  const double right = mean(eq(argmax(model(unseen), {-1}), reversed(unseen)).to(kFloat64)).item();
  const Matrix map = attention_map(model);
  double mirrored = 0;
  for (index_t i = 0; i < kLength; ++i) mirrored += map(i, kLength - 1 - i) / kLength;
  std::string word;
  for (const index_t letter : argmax(model(shown_letters()), {-1}).to_vector<index_t>()) {
    word += static_cast<char>('a' + letter);
  }
  std::printf("%-18s %s -> %s %5.0f %% correct, %3.0f %% of the weight on the anti-diagonal\n",
              title, kShown.c_str(), word.c_str(), 100 * right, 100 * mirrored);
}

/// Each hook removes one part while it exists. Returns the map without positions.
Matrix break_it(const models::TokenClassifier& model) {
  std::printf("Step 4: The trained model without one of its parts\n");
  report("all parts", model);
  {
    const nn::Hook off("**.heads",
                       [](const nn::HookPoint& point) { return point.without_head(0, 1); });
    report("without the head", model);
  }
  Matrix without_positions;
  {
    const nn::Hook off("embeddings", [](const nn::HookPoint& point) {
      return point.value - sinusoidal_positions(kLength, 64);
    });
    report("without positions", model);
    without_positions = attention_map(model);
  }
  Tensor attended;
  const nn::Hook keep("**.self_attn", [&](const nn::HookPoint& point) { attended = point.value; });
  const nn::Hook off("**.sum1", [&](const nn::HookPoint&) { return attended; });
  report("without residual", model);
  return without_positions;
}

void draw(const std::string& folder, const std::vector<Matrix>& maps) {
  std::vector<std::string> letters;
  for (const char letter : kShown) letters.emplace_back(1, letter);
  const char* titles[] = {"untrained", "trained", "trained, no positions"};
  Picture picture = {.description = "Three maps of attention", .panels = {}, .square = 16};
  for (std::size_t i = 0; i < maps.size(); ++i) {
    picture.panels.push_back({titles[i], maps[i], "attends to", "position", letters, letters});
  }
  write_picture(folder, "000_attention.svg", picture);
}

}  // namespace

int main(int argc, char** argv) {
  return run_example("000_see_it_work", argc, argv, "[FOLDER]", [&] {
    models::TokenClassifier model = make_model();
    std::printf("Step 1: A model of %d random numbers\n",
                static_cast<int>(nn::parameter_count(model)));
    report("untrained", model);
    const Matrix before = attention_map(model);
    std::printf("\nStep 2: Five times through 4000 words of 12 random letters\n");
    train(model);
    const Matrix after = attention_map(model);
    std::printf(
        "\nStep 3: Its attention for \"%s\", one row per position, @ for all of the weight\n%s\n",
        kShown.c_str(), terminal_picture(after, 0, 1).c_str());
    const Matrix lost = break_it(model);
    if (argc > 1) draw(argv[1], {before, after, lost});
  });
}
