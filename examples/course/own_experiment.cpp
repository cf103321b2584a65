// An experiment in fifty lines: does a wider model sort lines of text better?
//
//   own_experiment TRAIN HELD_OUT   two files of lines "label<TAB>text"
//
// Two widths with three seeds each, and early stopping. The same command continues the experiment
// after Ctrl-C. Each run has a folder in experiment with a log, a page and a checkpoint. Remove the
// folder after a change of the program.
#include <iostream>

#include <tessera/models/models.h>
#include <tessera/models/runs/runs.h>
#include <tessera/models/text/text.h>

using namespace tessera;

int main(int argc, char** argv) try {
  const bool helps = argc == 2 && std::string(argv[1]) == "--help";
  if (helps) return std::cout << "usage: own_experiment TRAIN HELD_OUT" << std::endl ? 0 : 2;
  require(nn::launched_processes() == 1, "processes", "must be 1; start it without mpirun");
  require(argc == 3, "files", "must be 2, TRAIN and HELD_OUT, got ", argc - 1);
  for (const char* file : {argv[1], argv[2]})
    require(*file != '-', "files", "must be names of files, without options, got ", file);
  const auto lines = text::read_labelled_lines(argv[1]);
  const auto held_out_lines = text::read_labelled_lines(argv[2]);
  const auto labels = text::distinct_labels(lines);
  std::vector<std::string> texts;
  for (const text::LabelledText& line : lines) texts.push_back(line.text);
  const auto words = text::WordTokenizer::of(texts);
  const text::Tokenization encode = {&words, {.max_length = 64}};

  for (const index_t width : {32, 64}) {
    for (const std::uint64_t seed : {0u, 1u, 2u}) {
      const std::string name = str_cat("width=", width, ",seed=", seed);
      manual_seed(seed);
      models::TokenEncoderOptions tokens;
      tokens.vocab_size = words.size();
      tokens.encoder.layers = {{.d_model = width, .nhead = 4, .dim_feedforward = 4 * width}};
      models::SequenceClassifier model({.token_encoder = tokens, .num_labels = std::ssize(labels)});
      nn::set_requires_grad(model);
      nn::AdamW optimizer(nn::split_weight_decay(model), {.lr = 1e-3});
      nn::Trainer trainer(
          model, optimizer, runs::classifier_examples(model, lines, labels, encode, argv[1]),
          {.epochs = 20, .seed = seed, .patience = 3, .best_by = nn::BestBy::kAccuracy},
          runs::classifier_examples(model, held_out_lines, labels, encode, argv[2]));
      runs::Run run(trainer, runs::in_folder("experiment/" + name));
      const runs::RunResult ending = run.train({.epoch = [&](const nn::EpochReport& report) {
        std::cout << name << ", epoch " << report.epoch + 1 << ": held-out accuracy "
                  << report.evaluation->totals.accuracy() << std::endl;
      }});
      if (ending.is_stopped()) return std::cout << ending.text << std::endl, ending.exit_code();
    }
  }
  return std::cout ? 0 : 2;
} catch (const std::exception& error) {
  std::cerr << "own_experiment: " << error.what() << std::endl;
  return 2;
}
