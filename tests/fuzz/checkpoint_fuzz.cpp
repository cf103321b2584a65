// A checkpoint: its values as every type, and its groups as every state.
#include "tessera/nn/training/checkpoint.h"

#include "tessera/nn/linear.h"
#include "tessera/nn/training/early_stopping.h"
#include "tessera/nn/training/lr_scheduler.h"
#include "tessera/nn/training/optim.h"
#include "tessera/nn/training/parameters.h"
#include "tessera/nn/training/weight_average.h"
#include "tests/fuzz/target.h"

namespace tessera::test {

namespace {

/// Runs a function that may refuse the file, separately, so that one refusal hides no other.
template <class Body>
void attempt(const Body& body) {
  try {
    body();
  } catch (const std::runtime_error&) {
  }
}

}  // namespace

void fuzz_checkpoint(std::string_view bytes) {
  const nn::Checkpoint run = nn::load_checkpoint(fuzz_file("run.safetensors", bytes));
  for (const auto& value : run.values) {
    attempt([&] { run.integer(value.first); });
    attempt([&] { run.integer<std::uint64_t>(value.first); });
    attempt([&] { run.number(value.first); });
    attempt([&] { run.count("fuzz", value.first); });
  }
  attempt([&] { run.rng("random"); });

  Rng rng(1);
  nn::Linear model(2, 3, rng);
  nn::set_requires_grad(model);
  nn::AdamW optimizer(model);
  nn::LRScheduler schedule(optimizer, nn::constant_schedule());
  nn::WeightAverage average(nn::parameters(model), 0.9);
  nn::EarlyStopping stopping(nn::parameters(model));
  attempt([&] { nn::load_group(run, "model", model, {.strict = false}); });
  attempt([&] { optimizer.load_state(run.group("optimizer")); });
  attempt([&] { schedule.load_state(run.group("schedule")); });
  attempt([&] { average.load_state(run.group("average")); });
  attempt([&] { stopping.load_state(run.group("stopping")); });
  schedule.step();
}

}  // namespace tessera::test
