// The run of fine_tune: what a task is to the trainer, and from the files to the saved folder.
#pragma once

#include <functional>
#include <iostream>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "examples/programs/attention_file.h"
#include "examples/programs/fine_tuning_data.h"
#include "examples/programs/processes.h"
#include "examples/programs/run_lock.h"
#include "examples/programs/training.h"
#include "models/hugging_face/fine_tuning.h"
#include "models/hugging_face/save_folder.h"
#include "nn/training/shared_evaluation.h"

namespace tessera::examples {

inline constexpr const char* kFineTune = "fine_tune";

struct FineTuneOptions {
  std::string model, train, test, save;
  std::string task = "auto";
  bool pair = false;
  double head_lr = 1e-3;
  double layer_decay = 0.9;
  std::string freeze = "nothing";
  index_t freeze_layers = 0;
  index_t max_length = 0;
  double temperature = 0.05;
  AttentionOptions attention;
};

/// The examples of the files of one call.
struct Files {
  TextData train, valid, test;
};

using Chosen = std::span<const index_t>;
using LossOf = std::function<nn::LossSum(const TextData& data, Chosen chosen)>;
using ScoresOf = std::function<Tensor(const text::Batch& batch)>;

/// A task, as the trainer uses it.
struct Task {
  std::string name;
  LossOf loss;
  bool is_regression = false;  // no answer is right or wrong
  // Of a task that chooses among classes, for --report:
  std::vector<std::string> labels = {};
  ScoresOf scores = {};
  index_t pad = 0;
};

/// The files that the options name, each as `read` makes examples of it.
Files read_files(const Program& program, const FineTuneOptions& o,
                 const std::function<TextData(const std::string& file)>& read);

nn::Examples examples_of(const TextData& data, const LossOf& loss);

/// What a person is told of losses: the error that a regression makes, as a standard deviation, or
/// the share of right answers.
std::string said(const Task& task, const nn::LossTotals& totals);
/// The same of an epoch and the evaluation after it.
std::string summary_of(const Task& task, const nn::EpochReport& report);

/// **Errors**: std::invalid_argument: more layers to freeze than there are.
models::FineTuningOptions tuning_of(const Program& program, const FineTuneOptions& o,
                                    index_t layers);

/// Keeps other runs from training a model for the same folder. **Errors**: as RunLock.
std::unique_ptr<RunLock> lock_of_target(const std::string& folder);

/// Adds the confusion matrices of a trained model to --report.
void report(Training& training, const Task& task, const Files& files);

/// Says what will be trained on what.
template <class Model>
void announce(const Task& task, const Model& model, const Files& files) {
  index_t learned = 0;
  for (const nn::Parameter& each : nn::parameters(model)) learned += each.tensor.count();
  std::cout << task.name << ": " << files.train.examples.size() << " examples";
  if (!files.valid.empty()) std::cout << ", " << files.valid.examples.size() << " held out";
  std::cout << "; " << learned << " of " << nn::parameter_count(model) << " parameters learn"
            << std::endl;
}

/// Trains to the end and takes the best weights; false if it was stopped before.
template <class Model>
bool train(const Program& program, const FineTuneOptions& o, const Task& task, Model& model,
           models::TokenEncoder& encoder, const Files& files) {
  std::vector<models::EncoderLayer>& layers = encoder.encoder.layers;
  for (models::EncoderLayer& layer : layers) {
    layer.gradient_checkpoint = program.options.checkpoint_layers;
  }
  auto groups = models::fine_tuning_groups(model, tuning_of(program, o, std::ssize(layers)));
  announce(task, model, files);
  Lesson lesson = {
      .train = examples_of(files.train, task.loss),
      .digest = files.train.digest(),
      .has_accuracy = !task.is_regression,
      .best_by = task.is_regression ? nn::BestBy::kLoss : nn::BestBy::kAccuracy,
      .summary = [&](const nn::EpochReport& report) { return summary_of(task, report); }};
  lesson.notes.set("task", task.name);
  if (!files.valid.empty()) {
    lesson.held_out = examples_of(files.valid, task.loss);
    lesson.digest ^= files.valid.digest() * 3;
  }
  nn::train(model);
  Training training(program, model, std::move(groups), std::move(lesson));
  if (!training.run()) return false;
  training.take_trained(model);
  nn::eval(model);
  if (training.has_report() && task.scores) report(training, task, files);
  return true;
}

/// What --attention asks for, of the texts to be tested on, else of those held out or learned.
template <class Learner>
void write_attention(const AttentionFile& file, const Learner& learner,
                     const models::TokenEncoder& encoder, const Files& files) {
  const TextData& shown = !files.test.empty()    ? files.test
                          : !files.valid.empty() ? files.valid
                                                 : files.train;
  file.write(std::ssize(shown.examples), *learner.reader.tokenizer, encoder, [&](index_t i) {
    const text::Example& example = shown.examples[static_cast<std::size_t>(i)];
    return ReadText{example.ids, example.types};
  });
}

/// Saves the folder, or rehearses it: of several processes the first writes.
template <class Learner>
void save(const Program& program, const FineTuneOptions& o, const Learner& learner, bool rehearse) {
  if (!leaves_traces()) return;
  models::save_folder(o.save, o.model, learner,
                      {.overwrite = program.options.overwrite, .rehearse = rehearse});
}

/// All of a run: `learner` is a model with its tokenizer, of which `model` is what learns.
template <class Learner, class Model>
void run_task(const Program& program, const FineTuneOptions& o, const Task& task,
              const Learner& learner, Model& model, models::TokenEncoder& encoder,
              const Files& files) {
  const AttentionFile attention(o.attention, encoder.encoder, o.save);
  std::unique_ptr<RunLock> lock;
  from_first([&] {  // all processes get its errors
    save(program, o, learner, true);
    lock = lock_of_target(o.save);
    return std::string();
  });
  if (!train(program, o, task, model, encoder, files)) return;
  save(program, o, learner, false);
  std::cout << "saved " << o.save << std::endl;
  if (!files.test.empty()) {
    const nn::LossTotals totals =
        nn::evaluate(processes(), model, examples_of(files.test, task.loss));
    std::cout << "test " << said(task, totals) << std::endl;
  }
  write_attention(attention, learner, encoder, files);
}

}  // namespace tessera::examples
