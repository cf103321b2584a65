#include "bench/scaling/compute.h"

#include <algorithm>
#include <numeric>
#include <vector>

#include "bench/scaling/stopwatch.h"
#include "nn/training/chunks.h"
#include "nn/training/clip_grad.h"
#include "nn/training/optim.h"
#include "tensor/autograd/tape.h"
#include "tensor/create.h"
#include "tensor/gradient.h"
#include "tensor/kernels/parallel.h"

namespace tessera::bench {

namespace {

/// Seconds of adding an element, as an owner adds the sums of others to its own: chunk by chunk, over
/// more memory than caches hold.
double addition_time(double part) {
  constexpr index_t kChunks = 96;
  std::vector<Tensor> totals, parts;
  for (index_t i = 0; i < kChunks; ++i) {
    totals.push_back(ones({nn::kChunkElements}));
    parts.push_back(ones({nn::kChunkElements}));
  }
  std::vector<double> laps;
  for (int round = 0; round < 5; ++round) {
    Stopwatch watch;
    for (std::size_t i = 0; i < totals.size(); ++i) add_in_place(totals[i], parts[i]);
    laps.push_back(watch.lap());
  }
  return quantile(laps, part) / static_cast<double>(kChunks * nn::kChunkElements);
}

}  // namespace

ThreadsScope::ThreadsScope(index_t threads) : before_(thread_count()) {
  set_thread_count(static_cast<int>(threads));
}

ThreadsScope::~ThreadsScope() {
  set_thread_count(before_);
}

Host measure_compute(const Task& task, Learner& learner, index_t threads, double seconds,
                     double part) {
  const ThreadsScope scope(threads);
  const nn::Examples examples = examples_of(task, learner, task.batch);
  std::vector<index_t> all(static_cast<std::size_t>(task.batch));
  std::iota(all.begin(), all.end(), 0);
  nn::AdamW optimizer(nn::split_weight_decay(learner), {.lr = 1e-4});
  std::vector<double> forward, backward, update, shard;
  double spent = 0;
  for (int step = -1; step < 3 || spent < seconds; ++step) {
    Stopwatch watch;
    Tape tape;
    const nn::LossSum sum = examples.loss(all);
    const double loss_made = watch.lap();
    tape.backward(sum.loss);
    const double gradients_made = watch.lap();
    nn::clip_grad_norm(optimizer, 1, {.scale = 1 / sum.count});
    optimizer.step();
    const double weights_moved = watch.lap();
    optimizer.zero_grad();
    if (step < 0) continue;  // the first one allocates
    forward.push_back(loss_made);
    backward.push_back(gradients_made);
    update.push_back(weights_moved);
    shard.push_back(loss_made + gradients_made);
    spent += shard.back() + weights_moved;
  }
  constexpr double kQuartiles = 1.349;  // between those of a normal variable of deviation 1
  return {.forward = quantile(forward, part),
          .backward = quantile(backward, part),
          .update = quantile(update, part),
          .addition = addition_time(part),
          .spread =
              (quantile(shard, 0.75) - quantile(shard, 0.25)) / kQuartiles / quantile(shard, 0.5)};
}

double on_cores(double one, double several, index_t threads, index_t cores) {
  const auto n = static_cast<double>(threads);
  const double divided = threads > 1 ? std::clamp((one - several) / (1 - 1 / n), 0.0, one) : one;
  return one - divided + divided / static_cast<double>(cores);
}

Host host_of(const Host& one, const Host& several, index_t threads, index_t cores, double speedup) {
  const auto time = [&](double Host::*part) {
    return speedup > 0 ? one.*part / speedup : on_cores(one.*part, several.*part, threads, cores);
  };
  return {.forward = time(&Host::forward),
          .backward = time(&Host::backward),
          .update = time(&Host::update),
          .addition = time(&Host::addition),
          .spread = several.spread};
}

}  // namespace tessera::bench
