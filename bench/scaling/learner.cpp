#include "bench/scaling/learner.h"

#include <memory>
#include <numeric>

#include "nn/training/parameters.h"
#include "tensor/error.h"
#include "tensor/ops/ops.h"
#include "tensor/random.h"

namespace tessera::bench {

Learner::Learner(const Task& task) {
  require(task.heads > 0 && task.width % task.heads == 0, "tessera_scaling",
          "--heads must divide --width ", task.width, ", got ", task.heads);
  const models::EncoderOptions encoder = {
      .layers = models::repeat_layer({.d_model = task.width,
                                      .nhead = task.heads,
                                      .dim_feedforward = task.feedforward,
                                      .dropout = 0,
                                      .activation = nn::Activation::kGelu},
                                     task.layers)};
  Rng rng(1);
  if (task.vocabulary > 0) {
    text.emplace(models::TokenEncoderOptions{.vocabulary_size = task.vocabulary,
                                             .encoder = encoder,
                                             .positions = models::Positions::kLearned,
                                             .max_tokens = task.tokens,
                                             .dropout = 0,
                                             .embedding_norm = true},
                 rng);
  } else {
    vectors.emplace(encoder, rng);
  }
  nn::set_requires_grad(*this);
}

nn::Examples examples_of(const Task& task, const Learner& learner, index_t count) {
  Rng rng(2);
  const Tensor target = randn({task.batch, task.tokens, task.width}, kFloat32, rng);
  const Tensor x = task.vocabulary > 0
                       ? randint(0, task.vocabulary, {task.batch, task.tokens}, rng)
                       : randn({task.batch, task.tokens, task.width}, kFloat32, rng);
  // Which examples they are changes no time: each shard has the same ones.
  const auto loss = [=, &learner](std::span<const index_t> chosen) {
    const index_t rows = std::ssize(chosen);
    return nn::summed_squared_error(learner(x.slice(0, 0, rows)), target.slice(0, 0, rows));
  };
  return {std::vector<index_t>(static_cast<std::size_t>(count), task.tokens), loss};
}

Elements elements_of(const Learner& learner) {
  Elements elements;
  for (const nn::ParameterGroup& group : nn::split_weight_decay(learner)) {
    for (const auto& [name, tensor] : group.parameters) {
      elements.counts.push_back(tensor.count());
      elements.all += tensor.count();
      if (name.starts_with("text.embeddings.")) elements.embedding += tensor.count();
    }
  }
  return elements;
}

}  // namespace tessera::bench
