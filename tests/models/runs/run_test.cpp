// A run's folder: files that are saved, continued, cut off and refused; labelled lines as examples.
#include "tessera/models/runs/run.h"

#include <csignal>

#include "tessera/models/models.h"
#include "tessera/models/runs/runs.h"
#include "tessera/models/text/text.h"
#include "tessera/tensor/io/json.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using Lines = std::vector<text::LabelledText>;

const Lines kLines = {{"fruit", "an apple"}, {"tool", "a hammer"}, {"fruit", "a pear"},
                      {"tool", "the saw"},   {"fruit", "figs"},    {"tool", "some nails"}};

/// A classifier of kLines, with its trainer.
struct Trial {
  text::WordTokenizer words = text::WordTokenizer::of(
      std::vector<std::string>{"an apple", "a hammer", "a pear", "the saw", "figs", "some nails"});
  models::SequenceClassifier model;
  nn::AdamW optimizer;
  nn::Trainer trainer;

  explicit Trial(index_t every = 0, const Lines& lines = kLines)
      : model(make()),
        optimizer(nn::split_weight_decay(model), {.lr = 1e-2}),
        trainer(model, optimizer, examples(lines),
                {.epochs = 4, .batch_size = 2, .seed = 3, .evaluate_every = every},
                examples(kLines)) {}

  models::SequenceClassifier make() const {
    manual_seed(1);
    models::TokenEncoderOptions tokens;
    tokens.vocab_size = words.size();
    tokens.encoder.layers = {{.d_model = 8, .nhead = 2, .dim_feedforward = 8}};
    models::SequenceClassifier made({.token_encoder = tokens, .num_labels = 2});
    nn::set_requires_grad(made);
    return made;
  }
  nn::Examples examples(const Lines& lines) {
    return runs::classifier_examples(model, lines, {"fruit", "tool"}, {&words}, "lines");
  }
};

/// The cells of a log, without the times.
std::vector<std::string> cells_of(const std::string& log) {
  std::vector<std::string> cells;
  for (const pages::LoggedStep& step : pages::read_run_log(log, "log")) {
    pages::LoggedStep timeless = step;
    timeless.seconds.reset();
    cells.push_back(pages::run_log_line(timeless));
  }
  return cells;
}

TEST(Run, ContinuesWithTheBitsAndTheLogOfAnUnbrokenOne) {
  const TemporaryFolder folder;
  for (const index_t every : {0, 2, 5}) {
    const auto whole = folder.path() / str_cat("whole", every),
               cut = folder.path() / str_cat(every);
    Trial unbroken(every);
    EXPECT_EQ(runs::Run(unbroken.trainer, runs::in_folder(whole)).train().text, "");
    for (const index_t steps : {1, 3, 2, 0}) {
      Trial part(every);
      runs::RunOptions options = runs::in_folder(cut);
      options.max_steps = steps;
      const runs::RunResult ending = runs::Run(part.trainer, options).train();
      EXPECT_EQ(ending.is_stopped(), steps > 0);
      EXPECT_EQ(ending.exit_code(), 0);
      const std::string text =
          str_cat("stopped after step ", part.trainer.step(), " of 12; start it again to continue");
      EXPECT_EQ(ending.text, steps > 0 ? text : "");
    }
    EXPECT_TRUE(file_text(cut / runs::kCheckpointFile) == file_text(whole / runs::kCheckpointFile));
    const auto log = cells_of(file_text(whole / runs::kLogFile));
    EXPECT_EQ(log.size(), 12U);
    EXPECT_EQ(cells_of(file_text(cut / runs::kLogFile)), log);
    const auto steps = pages::read_run_log(file_text(whole / runs::kLogFile), "log");
    for (const pages::LoggedStep& step : steps) {
      const bool due = step.step % (every > 0 ? every : 3) == 0 || step.step == 12;
      EXPECT_EQ(step.held_out_accuracy.has_value(), due) << every << ": " << step.step;
    }
    EXPECT_TRUE(contains(file_text(cut / runs::kReportFile), "finished after step 12 of 12"));
  }
}

// A run that is killed between the checkpoint and the next output has the evaluation in its log.
TEST(Run, WritesTheLogBeforeTheCheckpoint) {
  const TemporaryFolder folder;
  Trial trial;
  int saves = 0;
  const nn::TrainerCallbacks hooks = {.save = [&] {
    const auto steps = pages::read_run_log(file_text(folder.path() / runs::kLogFile), "log");
    ASSERT_EQ(std::ssize(steps), trial.trainer.step());
    EXPECT_TRUE(steps.back().held_out_loss.has_value());
    ++saves;
  }};
  runs::Run(trial.trainer, runs::in_folder(folder.path())).train(hooks);
  EXPECT_EQ(saves, 4);
}

TEST(Run, StopsBySignalAfterItHasSaved) {
  const TemporaryFolder folder;
  Trial trial;
  const nn::TrainerCallbacks hooks = {.step = [](const nn::StepReport& report) {
    if (report.step == 4) std::raise(SIGTERM);
  }};
  const runs::RunResult ending =
      runs::Run(trial.trainer, runs::in_folder(folder.path())).train(hooks);
  EXPECT_EQ(ending.signal, SIGTERM);
  EXPECT_EQ(ending.exit_code(), 128 + SIGTERM);
  const auto step =
      nn::load_checkpoint(folder.path() / runs::kCheckpointFile).integer("scheduler.step");
  EXPECT_EQ(ending.text,
            str_cat("stopped after step ", step, " of 12; start it again to continue"));
  EXPECT_LE(step, 5);
}

TEST(Run, RefusesNotesThatACheckpointCannotHold) {
  const TemporaryFolder folder;
  Trial trial;
  auto options = runs::in_folder(folder.path());
  options.notes.set("vocabulary", std::string("\xff"));
  EXPECT_TRUE(throws("save_safetensors", {"text must be UTF-8, got '\\xff'"},
                     [&] { runs::Run(trial.trainer, options); }));
  EXPECT_EQ(folder.file_count(), 0);
}

TEST(Run, RefusesOtherExamplesAndFoldersInUse) {
  const TemporaryFolder folder;
  Trial trial;
  const auto options = runs::in_folder(folder.path());
  {
    runs::Run run(trial.trainer, options);
    Trial second;
    EXPECT_TRUE(
        contains(file_error([&] { runs::Run(second.trainer, options); }), "must not be in use"));
    run.train();
  }
  Lines others = kLines;
  others[0].text = "some apple";
  Trial other(0, others);
  EXPECT_TRUE(contains(file_error([&] { runs::Run(other.trainer, options); }),
                       "examples must be those of the run, got different ones"));
  Trial nowhere;
  EXPECT_EQ(runs::Run(nowhere.trainer, {.max_steps = 2}).train().text,
            "stopped after step 2 of 12");
}

TEST(ClassifierExamples, AreTheirLossOneByOne) {
  Trial trial;
  nn::eval(trial.model);
  const nn::Examples examples = trial.examples(kLines);
  EXPECT_EQ(examples.lengths, (std::vector<index_t>{3, 3, 3, 3, 2, 3}));
  const std::vector<index_t> chosen = {4, 1};
  const nn::LossSum both = examples.loss(chosen);
  double sum = 0;
  for (const index_t i : chosen) {
    const auto& line = kLines[static_cast<std::size_t>(i)];
    const Tensor scores = trial.model(from_vector(trial.words.encode(line.text).ids).unsqueeze(0));
    sum += nn::summed_cross_entropy(scores, from_vector(std::vector<index_t>{line.label == "tool"}))
               .loss.item();
  }
  EXPECT_NEAR(both.loss.item(), sum, 1e-5);
  EXPECT_EQ(both.count, 2);
  EXPECT_NE(examples.digest, trial.examples({kLines.begin(), kLines.end() - 1}).digest);
  EXPECT_EQ(file_error([&] {
              trial.examples({{"food", "a pear"}});
            }),
            "lines: line 1: label must be one of 'fruit, tool', got 'food'");
}

}  // namespace
}  // namespace tessera::test
