// A page of attention, for viewer_test.js and viewer_choices_test.js, whose weights are known:
//
//   viewer_oracle WEIGHTS.npy PAGE.html
//
// The weights (L, B, H, T, T) are those of `run_encoder --attention-output`. Tokens are named by
// their places. The norms, which depend on text, layer, head and token, are made up.
#include <iostream>

#include "tessera/models/pages/attention_page.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/npy.h"
#include "tessera/tensor/random.h"

namespace {

using namespace tessera;

pages::AttentionView view_of(const Tensor& weights) {
  pages::AttentionView view = {.title = "Attention"};
  Rng rng(1);
  for (index_t i = 0; i < weights.size(1); ++i) {
    pages::AttentionText text;
    for (index_t t = 0; t < weights.size(3); ++t) text.tokens.push_back(str_cat(t));
    for (index_t layer = 0; layer < weights.size(0); ++layer) {
      text.weights.push_back(weights.select(0, layer).select(0, i));
      text.norms.push_back(uniform(0.1, 2, {weights.size(2), weights.size(3)}, kFloat32, rng));
    }
    view.texts.push_back(std::move(text));
  }
  return view;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    require(argc == 3, "viewer_oracle", "WEIGHTS.npy PAGE.html must be given");
    pages::write_page(argv[2], pages::attention_page(view_of(load_npy(argv[1]))));
  } catch (const std::exception& error) {
    std::cerr << "viewer_oracle: " << error.what() << '\n';
    return 2;
  }
  return 0;
}
