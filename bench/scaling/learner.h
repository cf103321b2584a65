// What learns in the measurements: an encoder over random vectors or random tokens.
#pragma once

#include <optional>

#include "models/encoder.h"
#include "models/token_encoder.h"
#include "nn/training/evaluate.h"

namespace tessera::bench {

/// An encoder, and what a shard of its batches is.
struct Task {
  index_t layers = 6, width = 384, heads = 12, feedforward = 1536;
  index_t vocabulary = 0;           // rows of an embedding before the encoder; 0: it reads vectors
  index_t batch = 8, tokens = 128;  // sequences of a shard, and their length
};

/// The module of a task.
struct Learner {
  std::optional<models::TokenEncoder> text;
  std::optional<models::Encoder> vectors;

  /// Of random weights that require gradients, the same each time. **Errors**: as the encoders.
  explicit Learner(const Task& task);
  Tensor operator()(const Tensor& x) const { return text ? (*text)(x) : (*vectors)(x); }

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor&& visitor) {
    visitor("text", self.text);
    visitor("vectors", self.vectors);
  }
};

/// So many examples of the task, to be trained by nn::Trainer: squared errors against random vectors.
/// `learner` must outlive them.
nn::Examples examples_of(const Task& task, const Learner& learner, index_t count);

/// The number of elements of each parameter, in the order of split_weight_decay, by which the exchange
/// counts them; and how many of them belong to the embedding.
struct Elements {
  std::vector<index_t> counts;
  index_t all = 0, embedding = 0;
};
Elements elements_of(const Learner& learner);

}  // namespace tessera::bench
