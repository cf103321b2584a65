// An experiment of one's own in fifty lines: held-out examples, a checkpoint, a log.
//
//   own_experiment            begins, or continues after a stop
//   own_experiment STEPS      the same, and stops at the next multiple of STEPS
//
// Does the first of six digits come again? The model must compare the first with each other one,
// which is what attention does.
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>

#include "models/models.h"

using namespace tessera;

int main(int argc, char** argv) try {
  const std::string steps = argc > 1 ? argv[1] : "0";
  if (steps == "--help") return std::cout << "usage: own_experiment [STEPS]" << std::endl ? 0 : 2;
  const int stop = std::atoi(steps.c_str());
  const bool is_number = stop > 0 && steps == std::to_string(stop);
  require(argc < 2 || (argc < 3 && is_number), "STEPS", "must be one whole number above 0");
  require(nn::launched_processes() == 1, "mpirun", "needs one process; start it without mpirun");
  models::TokenEncoderOptions tokens;
  tokens.vocabulary_size = 10;
  tokens.encoder.layers = {{.d_model = 32, .nhead = 4, .dim_feedforward = 64, .dropout = 0}};
  models::SequenceClassifier model({.tokens = tokens, .classes = 2});
  nn::set_requires_grad(model);
  nn::AdamW optimizer(nn::split_weight_decay(model), {.lr = 3e-3});

  const Tensor digits = randint(0, 10, {10000, 6});
  const Tensor answers = any(eq(digits.slice(1, 1), digits.slice(1, 0, 1)), {1}).to(kInt64);
  const auto examples = [&](index_t first, std::size_t count) {
    const auto loss = [&, first](std::span<const index_t> chosen) {
      const Tensor rows = from_vector(std::vector(chosen.begin(), chosen.end())) + first;
      const Tensor scores = model(index_select(digits, 0, rows));
      return nn::summed_cross_entropy(scores, index_select(answers, 0, rows));
    };
    return nn::Examples{std::vector<index_t>(count, 6), loss};
  };
  nn::Trainer trainer(model, optimizer, examples(0, 9000),
                      {.epochs = 8, .batch_size = 64, .patience = 3}, examples(9000, 1000));
  const std::filesystem::path file = "own_experiment.safetensors";
  if (exists(file)) trainer.load_state(nn::load_checkpoint(file));

  std::ofstream log("own_experiment.csv", std::ios::app);
  nn::TrainerHooks hooks;
  hooks.save = [&] { nn::save_checkpoint(file, trainer.state()); };
  hooks.step = [&](const nn::StepReport& report) {
    log << report.step << ',' << report.totals.mean() << std::endl;
    if (!log) fail_file("own_experiment.csv", "cannot be written");
    if (stop > 0 && report.step % stop == 0) trainer.stop();
  };
  hooks.evaluation = [](const auto& r) { std::cout << "held out: " << r.totals.mean() << '\n'; };
  trainer.run(hooks);
  nn::load_trained(trainer.weights(), model);
  std::cout << "right: " << nn::evaluate(model, examples(9000, 1000)).accuracy() << std::endl;
  return std::cout ? 0 : 2;
} catch (const std::exception& error) {
  std::cerr << "own_experiment: " << error.what() << std::endl;
  return 2;
}
