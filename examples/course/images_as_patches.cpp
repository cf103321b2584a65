// An encoder of images: digits of 8 x 8 pixels, divided into 16 patches of 2 x 2, its tokens.
//
// The digits are drawn here, shifted and with noise. The model is models::Encoder between two
// affine layers: a patch becomes a vector, and the mean of the vectors becomes ten scores.
//
// Source: Dosovitskiy et al., "An image is worth 16x16 words", 2021, section 3.1.
#include <tessera/models/models.h>
#include "examples/course/example.h"

using namespace tessera;

namespace {

constexpr index_t kSide = 8, kPatches = 16, kPixels = 4, kWidth = 32;
constexpr index_t kTrain = 6000, kTest = 1000;

/// 7 rows of 5 pixels each, '#' is ink.
constexpr const char* kFont[10] = {
    ".###.#...##..###.#.###..##...#.###.", "..#...##....#....#....#....#...###.",
    ".###.#...#....#...#...#...#...#####", "####.....#....#.###.....#....#####.",
    "...#...##..#.#.#..#.#####...#....#.", "######....####.....#....##...#.###.",
    ".###.#....#....####.#...##...#.###.", "#####....#...#...#...#....#....#...",
    ".###.#...##...#.###.#...##...#.###.", ".###.#...##...#.####....#....#.###."};

/// Digits (N), and their pictures as patches (N, 16, 4).
struct Pictures {
  Tensor digits, patches;

  Pictures(index_t count, std::uint64_t seed) {
    Rng rng(seed);
    digits = randint(0, 10, {count}, rng);
    const auto labels = digits.to_vector<index_t>();
    const auto right = randint(0, kSide - 4, {count}, rng).to_vector<index_t>();
    const auto down = randint(0, kSide - 6, {count}, rng).to_vector<index_t>();
    Tensor pictures = randn({count, kSide, kSide}, kFloat32, rng) * 0.3;
    auto* const pixels = pictures.mutable_data<float>();
    for (std::size_t i = 0; i < labels.size(); ++i) {
      float* const corner = pixels + (static_cast<index_t>(i) * kSide + down[i]) * kSide + right[i];
      for (index_t j = 0; j < 35; ++j) {
        if (kFont[labels[i]][j] == '#') corner[j / 5 * kSide + j % 5] += 1;
      }
    }
    const Tensor cut = pictures.reshape({count, kSide / 2, 2, kSide / 2, 2});
    patches = cut.permute({0, 1, 3, 2, 4}).reshape({count, kPatches, kPixels});
  }
};

struct Classifier {
  nn::Linear input{kPixels, kWidth};
  nn::LearnedPositionalEncoding positions{kPatches, kWidth};
  models::Encoder encoder{
      {.layers = models::repeat_layer(
           {.d_model = kWidth, .nhead = 4, .dim_feedforward = 64, .dropout = 0}, 2)}};
  nn::Linear output{kWidth, 10};

  /// **Shapes**: (B, 16, 4) -> (B, 10).
  Tensor operator()(const Tensor& patches) const {
    return output(mean(encoder(positions(input(patches))), {1}));
  }

  static void visit(auto& self, auto&& visitor) {
    visitor("input", self.input);
    visitor("positions", self.positions);
    visitor("encoder", self.encoder);
    visitor("output", self.output);
  }
};

void run() {
  manual_seed(0);
  Classifier model;
  nn::set_requires_grad(model);
  nn::AdamW optimizer(nn::split_weight_decay(model), {.lr = 3e-3});
  const Pictures train(kTrain, 1), test(kTest, 2);
  const auto loss = [&](const Tensor& x, const Tensor& y) {
    return nn::summed_cross_entropy(model(x), y);
  };
  const auto held_out = nn::examples_of(test.patches, test.digits, loss);
  nn::Trainer(model, optimizer, nn::examples_of(train.patches, train.digits, loss),
              {.epochs = 10, .lr_decay = nn::LrDecay::kLinear, .warmup_ratio = 0.1})
      .train();
  std::cout << "accuracy: " << nn::evaluate(model, held_out).accuracy() << ", by chance: 0.1"
            << std::endl;
}

}  // namespace

int main() {
  return examples::run_example("images_as_patches", run);
}
