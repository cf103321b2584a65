// An experiment in fifty lines: does a wider model sort lines of text better?
//
//   own_experiment TRAIN HELD_OUT   two files of lines "label<TAB>text"
//
// Two widths with three seeds each, and early stopping. The same command continues the experiment
// after Ctrl-C. The folder experiment gets a log, a page and a checkpoint of each run, and at the
// end a table and a page with all curves. Remove the folder after a change of the program.
#include <iostream>

#include "models/models.h"
#include "models/runs/runs.h"

using namespace tessera;

int main(int argc, char** argv) try {
  const bool helps = argc == 2 && std::string(argv[1]) == "--help";
  if (helps) return std::cout << "usage: own_experiment TRAIN HELD_OUT" << std::endl ? 0 : 2;
  require(nn::launched_processes() == 1, "processes", "must be 1; start it without mpirun");
  require(argc == 3, "files", "must be 2, TRAIN and HELD_OUT, got ", argc - 1);
  const auto lines = text::read_labelled_lines(argv[1]);
  const auto held_out_lines = text::read_labelled_lines(argv[2]);
  const auto labels = text::distinct_labels(lines);
  std::vector<std::string> texts;
  for (const text::LabelledText& line : lines) texts.push_back(line.text);
  const auto words = text::WordTokenizer::of(texts);
  const text::TextEncoder encode = {&words, {.max_length = 64}};
  const auto digest = [&](const auto& of, const char* file) {
    return str_cat(runs::digest_of(text::labelled_examples(of, labels, encode, file)));
  };

  const auto train = [&](const runs::SweepRun& run) {
    manual_seed(run.seed);
    const index_t width = run.integer("width");
    models::TokenEncoderOptions tokens;
    tokens.vocabulary_size = words.size();
    tokens.encoder.layers = {{.d_model = width, .nhead = 4, .dim_feedforward = 4 * width}};
    models::SequenceClassifier model({.tokens = tokens, .classes = std::ssize(labels)});
    nn::set_requires_grad(model);
    nn::AdamW optimizer(nn::split_weight_decay(model), {.lr = 1e-3});
    nn::Trainer trainer(
        model, optimizer, runs::classifier_examples(model, lines, labels, encode, argv[1]),
        {.epochs = 20, .seed = run.seed, .patience = 3, .best_by = nn::BestBy::kAccuracy},
        runs::classifier_examples(model, held_out_lines, labels, encode, argv[2]));
    return runs::Run(trainer, runs::in_folder(run.folder)).train({.epoch = [&](const auto& report) {
      std::cout << run.name << ", epoch " << report.epoch + 1 << ": held-out accuracy "
                << report.evaluation->totals.accuracy() << std::endl;
    }});
  };
  const runs::SweepEnding end = runs::run_sweep(
      {.folder = "experiment",
       .axes = {{"width", {"32", "64"}}},
       .seeds = {0, 1, 2},
       .facts = {{"train", digest(lines, argv[1])}, {"held-out", digest(held_out_lines, argv[2])}}},
      train);
  std::cout << end.text << std::flush;
  if (!end.error.empty()) throw std::runtime_error(end.error);
  return std::cout ? end.exit_code() : 2;
} catch (const std::exception& error) {
  std::cerr << "own_experiment: " << error.what() << std::endl;
  return 2;
}
