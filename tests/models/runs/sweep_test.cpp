// Sweeps in code: the plan, the table, what continues and what is refused.
#include "models/runs/sweep.h"

#include <csignal>

#include "models/models.h"
#include "models/runs/runs.h"
#include "tests/support/errors.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using pages::Rows;
using runs::SweepResult;

std::vector<std::string> names_of(const std::vector<runs::SweepRun>& runs) {
  std::vector<std::string> names;
  for (const runs::SweepRun& run : runs) names.push_back(run.name);
  return names;
}

TEST(SweepPlan, HasEachSeedOfEachSetting) {
  const auto all = runs::plan_runs("f", {runs::parse_axis("lr=1e-4,3"), runs::parse_axis("kind=a")},
                                   runs::parse_seeds("4..5"));
  EXPECT_EQ(names_of(all),
            (std::vector<std::string>{"lr=1e-4,kind=a,seed=4", "lr=1e-4,kind=a,seed=5",
                                      "lr=3,kind=a,seed=4", "lr=3,kind=a,seed=5"}));
  EXPECT_EQ(all[1].folder, std::filesystem::path("f") / "lr=1e-4,kind=a,seed=5");
  EXPECT_EQ(all[0].number("lr"), 1e-4);
  EXPECT_EQ(all[2].integer("lr"), 3);
  EXPECT_EQ(all[2].text("kind"), "a");
  EXPECT_THROW(all[0].integer("lr"), std::invalid_argument);
  EXPECT_THROW(all[0].text("width"), std::invalid_argument);
  EXPECT_EQ(names_of(runs::plan_runs("f", {}, {7})), std::vector<std::string>{"seed=7"});
}

TEST(SweepPlan, RefusesWhatIsNoFolder) {
  for (const char* const text : {"lr", "=1", ""}) {
    EXPECT_THROW(runs::parse_axis(text), std::invalid_argument) << text;
  }
  for (const char* const text : {"", "a", "1..", "..1", "3..2", "0..99999", "-1", "1;2"}) {
    EXPECT_THROW(runs::parse_seeds(text), std::invalid_argument) << text;
  }
  EXPECT_EQ(runs::parse_seeds("18446744073709551614..18446744073709551615").size(), 2U);
  for (const char* const axis : {"a=", "a=1,", "a=x/y", "a/b=1", "a=..,1,1", "seed=1"}) {
    EXPECT_THROW(runs::plan_runs("f", {runs::parse_axis(axis)}, {0}), std::invalid_argument)
        << axis;
  }
  EXPECT_THROW(runs::plan_runs("f", {}, {}), std::invalid_argument);
}

std::vector<SweepResult> results(const std::vector<double>& values) {
  std::vector<SweepResult> all;
  for (const auto& run : runs::plan_runs("f", {{"lr", {"1", "2"}}}, {0, 1, 2, 3})) {
    all.push_back({.run = run, .steps = 9, .measure = "loss", .value = values[all.size()]});
  }
  return all;
}

// By hand: means 2.5 and 4; differences 1, 1, 1, 3, all above 0: p = 2 / 16.
TEST(SweepTable, ComparesBySeeds) {
  const auto all = results({1, 2, 3, 4, 2, 3, 4, 7});
  EXPECT_EQ(runs::setting_rows(all),
            (Rows{{"lr", "runs", "mean_loss", "deviation", "difference", "p", "p_holm"},
                  {"1", "4", "2.5", "1.29099", "", "", ""},
                  {"2", "4", "4", "2.16025", "1.5", "0.125", "0.125"}}));
  EXPECT_EQ(runs::setting_rows(results({2, 3, 4, 7, 1, 2, 3, 4}))[2][5], "0.125") << "both sides";
  // A run that diverged has no difference to others.
  const auto diverged = runs::setting_rows(results({1, 2, 3, 4, 2, std::nan(""), 4, 7}))[2];
  EXPECT_EQ(std::vector(diverged.end() - 3, diverged.end()), std::vector<std::string>(3));
  // A seed that only one has is no pair; a setting with one run has no deviation.
  const std::vector<SweepResult> few = {all[0], all[1], all[5]};
  EXPECT_EQ(runs::setting_rows(few)[2],
            (std::vector<std::string>{"2", "1", "3", "", "1", "1", "1"}));
  EXPECT_EQ(runs::setting_rows(std::span(all).first(2)),
            (Rows{{"lr", "runs", "mean_loss", "deviation"}, {"1", "2", "1.5", "0.707107"}}));
}

// ---- running ----

struct Net {
  nn::Linear linear{2, 1};

  template <class Self, class Visitor>
  static void visit(Self& self, Visitor&& visitor) {
    visitor("linear", self.linear);
  }
};

/// Runs that fit a line; with the options to continue or to break off.
struct Experiment {
  TemporaryFolder folder = {};
  int calls = 0;
  index_t stop_in_call = -1;
  bool throws = false;  // in runs with lr = 0.1

  runs::Ending train(const runs::SweepRun& run) {
    if (throws && run.number("lr") == 0.1) throw std::runtime_error("the data is lost");
    manual_seed(run.seed);
    Net net;
    nn::set_requires_grad(net);
    nn::SGD optimizer(nn::parameters(net), {.lr = run.number("lr")});
    const auto loss = [&](std::span<const index_t> chosen) {
      const Tensor x =
          from_vector(std::vector<float>(chosen.begin(), chosen.end())).unsqueeze(1) / 8;
      return nn::summed_squared_error(net.linear(concat({x, x * x}, 1)).select(1, 0),
                                      x.select(1, 0) * 2);
    };
    nn::Trainer trainer(net, optimizer, {std::vector<index_t>(8, 1), loss, 5},
                        {.epochs = 4, .batch_size = 4, .seed = run.seed}, {{1, 1, 1}, loss, 6});
    auto options = runs::in_folder(run.folder);
    options.has_accuracy = false;
    if (calls++ == stop_in_call) options.max_steps = 3;
    return runs::Run(trainer, options).train();
  }

  runs::SweepEnding run(const std::string& name, index_t jobs = 0, bool overwrite = false,
                        const pages::Facts& facts = {}) {
    return runs::run_sweep({.folder = folder.path() / name,
                            .axes = {{"lr", {"0.1", "0.3"}}},
                            .seeds = {1, 2},
                            .jobs = jobs,
                            .facts = facts,
                            .overwrite = overwrite},
                           [this](const runs::SweepRun& each) { return train(each); });
  }
  std::string file(const std::string& name) const { return file_text(folder.path() / name); }
};

TEST(Sweep, ContinuesWhereItWasStopped) {
  Experiment all;
  const auto whole = all.run("whole");
  EXPECT_TRUE(whole.is_finished);
  EXPECT_EQ(all.calls, 4);
  EXPECT_TRUE(whole.text.starts_with("lr   runs  mean_held_out_loss"));
  all.calls = 0;
  all.stop_in_call = 1;
  const auto part = all.run("cut");
  EXPECT_FALSE(part.is_finished);
  EXPECT_EQ(part.exit_code(), 0);
  EXPECT_EQ(part.text, "stopped: 1 of 4 runs are finished; start it again to continue\n");
  EXPECT_FALSE(std::filesystem::exists(all.folder.path() / "cut/sweep.csv"));
  const auto rest = all.run("cut");
  EXPECT_EQ(all.calls, 5);
  EXPECT_EQ(rest.text, whole.text);
  const auto children = all.run("children", 2);
  EXPECT_EQ(all.calls, 5) << "children count for themselves";
  EXPECT_EQ(children.text, whole.text);
  for (const char* const file :
       {"/runs.csv", "/sweep.csv", "/lr=0.3,seed=2/checkpoint.safetensors"}) {
    EXPECT_EQ(all.file(std::string("cut") + file), all.file(std::string("whole") + file));
    EXPECT_EQ(all.file(std::string("children") + file), all.file(std::string("whole") + file));
  }
  EXPECT_EQ(all.run("cut").text, whole.text);
  EXPECT_EQ(all.calls, 5) << "finished runs are not run again";
  all.run("cut", 0, true);
  EXPECT_EQ(all.calls, 9);
}

// A signal that comes while a run is made stops the sweep too.
TEST(Sweep, StopsBySignalBetweenRuns) {
  Experiment all;
  const auto end = runs::run_sweep(
      {.folder = all.folder.path() / "sweep", .axes = {{"lr", {"0.1"}}}, .seeds = {1, 2, 3}},
      [&](const runs::SweepRun& run) {
        if (all.calls == 1) std::raise(SIGINT);
        return all.train(run);
      });
  EXPECT_EQ(end.exit_code(), 128 + SIGINT);
  EXPECT_EQ(end.text, "stopped: 1 of 3 runs are finished; start it again to continue\n");
}

TEST(Sweep, GoesOnAfterARunThatFails) {
  Experiment all;
  for (const index_t jobs : {0, 1, 2}) {
    const std::string name = str_cat("jobs", jobs);
    all.throws = true;
    const auto part = all.run(name, jobs);
    EXPECT_FALSE(part.is_finished);
    EXPECT_EQ(part.exit_code(), 2);
    EXPECT_TRUE(part.error.starts_with("2 of 4 runs failed, first lr=0.1,seed=1: ")) << part.error;
    EXPECT_TRUE(contains(part.error, "the data is lost")) << part.error;
    EXPECT_TRUE(part.error.ends_with("; start it again to repeat them")) << part.error;
    EXPECT_EQ(contains(part.error, "must end without an error, got exit code 2: "), jobs > 0);
    EXPECT_TRUE(contains(part.text, "\n0.3     2  ")) << part.text;
    EXPECT_FALSE(contains(part.text, "\n0.1 ")) << part.text;
    EXPECT_TRUE(contains(all.file(name + "/sweep.html"), "lr=0.3,seed=2"));
    all.throws = false;
    EXPECT_TRUE(all.run(name, jobs).is_finished);
    EXPECT_EQ(all.file(name + "/sweep.csv"), all.file("jobs0/sweep.csv"));
  }
}

// A child that writes nothing before it is killed, and one without a log.
TEST(Sweep, GoesOnAfterARunWithoutNews) {
  Experiment all;
  const auto error_of = [&](const std::string& name, const auto& spoil) {
    const auto train = [&](const runs::SweepRun& run) {
      const runs::Ending ending = all.train(run);
      if (run.seed == 1) spoil(run);
      return ending;
    };
    const runs::SweepOptions options = {
        .folder = all.folder.path() / name, .axes = {{"lr", {"0.1"}}}, .seeds = {1, 2}, .jobs = 1};
    const runs::SweepEnding ending = runs::run_sweep(options, train);
    EXPECT_TRUE(contains(ending.text, "\n0.1     1  ")) << ending.text;
    return ending.error;
  };
  const std::string killed = error_of("killed", [](const auto&) { std::raise(SIGKILL); });
  EXPECT_TRUE(killed.starts_with(
      "1 of 2 runs failed, first lr=0.1,seed=1: must end without an error, got signal 9; see "))
      << killed;
  const std::string lost = error_of("lost", [](const runs::SweepRun& run) {
    std::filesystem::remove(run.folder / runs::kLogFile);
  });
  EXPECT_TRUE(lost.starts_with("1 of 2 runs failed, first ")) << lost;
  EXPECT_TRUE(contains(lost, "lr=0.1,seed=1/log.csv")) << lost;
}

TEST(Sweep, IsBegunAnewWithoutItsCheckpoints) {
  Experiment all;
  const auto whole = all.run("sweep");
  for (const auto& run : std::filesystem::directory_iterator(all.folder.path() / "sweep")) {
    if (run.is_directory()) std::filesystem::remove(run.path() / runs::kCheckpointFile);
  }
  EXPECT_TRUE(contains(file_error([&] { all.run("sweep"); }), "checkpoint.safetensors"));
  EXPECT_EQ(all.run("sweep", 0, true).text, whole.text);
}

TEST(Sweep, SaysWhatIsWrong) {
  Experiment all;
  all.run("sweep", 0, false, {{"data", "a, \"b\""}});
  EXPECT_EQ(all.file("sweep/options.csv"), "option,value\ndata,\"a, \"\"b\"\"\"\n");
  EXPECT_TRUE(
      contains(file_error([&] { all.run("sweep"); }), "options must be those of the sweep"));
  std::filesystem::remove(all.folder.path() / "sweep/lr=0.1,seed=1/log.csv");
  EXPECT_TRUE(contains(file_error([&] {
                         all.run("sweep", 0, false, {{"data", "a, \"b\""}});
                       }),
                       "lr=0.1,seed=1/log.csv"));
}

}  // namespace
}  // namespace tessera::test
