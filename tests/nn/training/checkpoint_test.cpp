#include "tessera/nn/training/checkpoint.h"

#include <sys/wait.h>
#include <unistd.h>
#include <bit>
#include <chrono>
#include <csignal>

#include "tessera/nn/feed_forward.h"
#include "tessera/nn/linear.h"
#include "tessera/tensor/create.h"
#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

TEST(SaveModule, RoundTripsToTheBitUnderPyTorchsNames) {
  const TemporaryFolder folder;
  Rng rng(3);
  const FeedForward original({.d_model = 4, .dim_feedforward = 6}, rng);
  FeedForward copy({.d_model = 4, .dim_feedforward = 6}, rng);
  save_module(folder.path() / "model.safetensors", original);
  EXPECT_TRUE(
      load_safetensors(folder.path() / "model.safetensors").tensors.contains("linear1.weight"));
  const std::uint64_t version = copy.linear1.weight->storage().version();
  load_module(folder.path() / "model.safetensors", copy);
  EXPECT_GT(copy.linear1.weight->storage().version(), version);  // packed copies are stale now
  for (const auto& [name, wanted] : state_dict(original)) {
    EXPECT_EQ(state_dict(copy).at(name).to_vector<float>(), wanted.to_vector<float>()) << name;
  }
}

TEST(LoadModule, ConvertsDtypes) {
  const TemporaryFolder folder;
  Linear source(2, 1);
  convert(source, kFloat64);
  save_module(folder.path() / "m", source);
  Linear target(2, 1);
  load_module(folder.path() / "m", target);
  EXPECT_EQ(target.weight.dtype(), kFloat32);
  EXPECT_EQ(target.weight->to_vector<float>(), source.weight->to(kFloat32).to_vector<float>());
}

TEST(LoadModule, ListsEverythingThatDiffersAndChangesNothing) {
  const TemporaryFolder folder;
  Linear target(2, 3);
  target.weight->fill(1);
  save_safetensors(folder.path() / "m", {{"weight", zeros({3, 5})}, {"scale", zeros({1})}});
  const std::string error = file_error([&] { load_module(folder.path() / "m", target); });
  EXPECT_EQ(error, (folder.path() / "m").string() +
                       ": tensors must fit the module, got:\n  missing: bias (3,)\n"
                       "  weight must have shape (3, 2), got (3, 5)\n"
                       "  unexpected: scale (1,)");
  EXPECT_EQ(target.weight->to_vector<float>(), ones({3, 2}).to_vector<float>());
}

TEST(Checkpoint, ReturnsValuesToTheBit) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "c.safetensors";
  Checkpoint saved;
  const Rng::State state{~std::uint64_t{0}, 5, std::uint64_t{1} << 63};
  const std::string words = "line\n\ttab \"quote\" \\ \xe2\x82\xac";
  saved.set("words", words);
  saved.set("none", "");
  saved.set("flag", true);
  saved.set("int", -7);
  saved.set("smallest", std::numeric_limits<std::int64_t>::min());
  saved.set("largest", std::numeric_limits<std::uint64_t>::max());
  saved.add("rng", state);
  const std::array numbers = {
      0.1, -0.0, 1e-310, 1e300, 1.0 / 3, std::numeric_limits<double>::infinity(), 5.0};
  for (std::size_t i = 0; i < numbers.size(); ++i) saved.set(str_cat("n", i), numbers[i]);
  saved.set("float", 0.1F);
  save_checkpoint(path, saved);

  const Checkpoint loaded = load_checkpoint(path);
  EXPECT_EQ(loaded.values, saved.values);
  EXPECT_EQ(loaded.file, path.string());
  EXPECT_EQ(loaded.text("words"), words);
  EXPECT_EQ(loaded.text("none"), "");
  EXPECT_EQ(loaded.integer("flag"), 1);
  EXPECT_EQ(loaded.integer("int"), -7);
  EXPECT_EQ(loaded.integer("smallest"), std::numeric_limits<std::int64_t>::min());
  EXPECT_EQ(loaded.integer<std::uint64_t>("largest"), std::numeric_limits<std::uint64_t>::max());
  EXPECT_EQ(loaded.rng("rng"), state);
  for (std::size_t i = 0; i < numbers.size(); ++i) {
    EXPECT_EQ(std::bit_cast<std::uint64_t>(loaded.number(str_cat("n", i))),
              std::bit_cast<std::uint64_t>(numbers[i]));
  }
  EXPECT_EQ(loaded.number("float"), static_cast<double>(0.1F));
}

TEST(Checkpoint, NamesWhatIsMissingOrWrong) {
  Checkpoint checkpoint;
  checkpoint.file = "run/c";
  checkpoint.set("text", "12x");
  checkpoint.set("minus", -1);
  checkpoint.set("wide", std::uint64_t{1} << 63);
  EXPECT_EQ(file_error([&] { (void)checkpoint.text("step"); }), "run/c: value 'step' is missing");
  EXPECT_EQ(file_error([&] { (void)checkpoint.integer("step"); }),
            "run/c: value 'step' is missing");
  EXPECT_EQ(file_error([&] { (void)checkpoint.integer("text"); }),
            "run/c: value 'text' must be an integer within range, got '12x'");
  EXPECT_EQ(file_error([&] { (void)checkpoint.number("text"); }),
            "run/c: value 'text' must be a number, got '12x'");
  EXPECT_EQ(file_error([&] { (void)checkpoint.integer<std::uint64_t>("minus"); }),
            "run/c: value 'minus' must be an integer within range, got '-1'");
  EXPECT_FALSE(file_error([&] { (void)checkpoint.integer("wide"); }).empty());
  EXPECT_FALSE(file_error([&] { (void)checkpoint.rng("rng"); }).empty());
}

TEST(Checkpoint, KeepsGroupsOfTensorsApart) {
  const TemporaryFolder folder;
  const Linear linear(2, 2);
  Checkpoint saved;
  saved.add("model", state_dict(linear));
  saved.add("model2", {{"weight", full({1}, 2)}});
  saved.add("mode", {{"weight", full({1}, 3)}});
  fails("Checkpoint", "'mode.weight'", [&] { saved.add("mode", {{"weight", ones({1})}}); });
  save_checkpoint(folder.path() / "c", saved);
  const Checkpoint loaded = load_checkpoint(folder.path() / "c");
  EXPECT_EQ(loaded.group("model").tensors.size(), 2u);
  EXPECT_EQ(loaded.group("model2").tensors.at("weight").item(), 2);
  EXPECT_EQ(loaded.group("mode").tensors.at("weight").item(), 3);
  EXPECT_TRUE(loaded.group("mod").tensors.empty());

  Linear copy(2, 2);
  load_group(loaded, "model", copy);
  EXPECT_EQ(copy.weight->to_vector<float>(), linear.weight->to_vector<float>());
  EXPECT_TRUE(contains(file_error([&] { load_group(loaded, "mode", copy); }),
                       "c: mode: tensors must fit the module, got:"));
}

TEST(Checkpoint, KeepsWholeStatesAsGroups) {
  Checkpoint part;
  part.tensors["m"] = full({2}, 3);
  part.set("beta", 0.5);
  part.add("inner", {.tensors = {}, .values = {{"step", "7"}}});
  Checkpoint run;
  run.set("optimizers", "none of the group");
  run.add("optimizer", part).add("rng", Rng::State{1, 2, 3});
  EXPECT_TRUE(run.tensors.contains("optimizer.m"));
  EXPECT_EQ(run.text("optimizer.inner.step"), "7");
  const Checkpoint back = run.group("optimizer");
  EXPECT_EQ(back.values, part.values);
  EXPECT_EQ(back.tensors.at("m").to_vector<float>(), part.tensors.at("m").to_vector<float>());
  EXPECT_EQ(back.group("inner").count("op", "step"), 7);
  EXPECT_EQ(run.rng("rng"), (Rng::State{1, 2, 3}));
  fails("Checkpoint", {"2 values", "'rng.position'"}, [&] { run.add("rng", Rng::State{}); });
}

// For a checkpoint in memory, an error names the op; for one from a file, the file and the group.
TEST(Checkpoint, SaysWhereAStateCameFrom) {
  Checkpoint run;
  run.set("schedule.step", "3.5");
  const auto read = [&] { (void)run.group("schedule").count("load_state", "step"); };
  fails("load_state", "step must be an integer of at least 0, got 3.5", read);
  run.file = "run/c";
  EXPECT_EQ(file_error(read), "run/c: schedule: step must be an integer of at least 0, got 3.5");
  const Checkpoint wanted = {{{"w", ones({2})}, {"v", ones({2})}}, {{"step", ""}}, {}};
  const Checkpoint given = {{{"w", ones({3})}}, {{"steps", ""}}, "run/d"};
  EXPECT_EQ(file_error([&] { given.check_names("op", wanted); }),
            "run/d: state must fit, got:\n  missing: v\n  missing: step\n  unexpected: steps\n"
            "  w must have shape (2,), got (3,)");
  wanted.check_names("op", wanted);
}

TEST(LoadGroup, TakesAPrefixAndReportsWhatItDoesNotTouch) {
  const Linear linear(2, 2);
  Checkpoint checkpoint;
  checkpoint.add("model", {{"part.weight", linear.weight}, {"head", ones({1})}});
  Linear copy(2, 2);
  const LoadReport report =
      load_group(checkpoint, "model", copy, {.prefix = "part.", .strict = false});
  EXPECT_EQ(report.missing_keys, std::vector<std::string>{"bias"});
  EXPECT_EQ(report.unexpected_keys, std::vector<std::string>{"head"});
  EXPECT_EQ(copy.weight->to_vector<float>(), linear.weight->to_vector<float>());
}

TEST(LoadCheckpoint, RefusesOtherFiles) {
  const TemporaryFolder folder;
  save_safetensors(folder.path() / "m", {{"w", ones({1})}});
  EXPECT_TRUE(contains(file_error([&] { load_checkpoint(folder.path() / "m"); }),
                       "m: must be a checkpoint, got a file of tensors only"));
  save_safetensors(folder.path() / "m", {}, {{"tessera.checkpoint", "2"}});
  EXPECT_TRUE(contains(file_error([&] { load_checkpoint(folder.path() / "m"); }),
                       "version must be 1, got '2'"));
  Checkpoint checkpoint;
  checkpoint.set("format", "mine");
  fails("save_checkpoint", "format", [&] { save_checkpoint(folder.path() / "c", checkpoint); });
}

/// A checkpoint in which every part contains its number.
Checkpoint generation(index_t number) {
  Checkpoint checkpoint;
  checkpoint.set("generation", number);
  checkpoint.set("words", std::string(5000, static_cast<char>('a' + number % 26)));
  for (const char* const name : {"a", "b", "c"}) {
    checkpoint.tensors[name] = full({4000 + number % 7}, static_cast<double>(number), kFloat64);
  }
  return checkpoint;
}

void expect_generation(const Checkpoint& checkpoint, index_t number) {
  const Checkpoint wanted = generation(number);
  EXPECT_EQ(checkpoint.values, wanted.values);
  ASSERT_EQ(checkpoint.tensors.size(), wanted.tensors.size());
  for (const auto& [name, tensor] : wanted.tensors) {
    EXPECT_EQ(checkpoint.tensors.at(name).to_vector<double>(), tensor.to_vector<double>());
  }
}

/// A process that saves numbered checkpoints from `first` on and reports each saved one.
class Saver {
 public:
  Saver(const std::filesystem::path& path, index_t first) {
    std::array<int, 2> ends{};
    EXPECT_EQ(::pipe(ends.data()), 0);
    process_ = ::fork();
    if (process_ == 0) {
      for (index_t number = first;; ++number) {
        save_checkpoint(path, generation(number));
        if (::write(ends[1], &number, sizeof number) != sizeof number) ::_exit(1);
      }
    }
    ::close(ends[1]);
    reports_ = ends[0];
  }
  ~Saver() { ::close(reports_); }
  Saver(const Saver&) = delete;
  Saver& operator=(const Saver&) = delete;

  /// The next number that it reports, or 0 if it has ended without another report.
  index_t next_report() const {
    index_t number = 0;
    return ::read(reports_, &number, sizeof number) == sizeof number ? number : 0;
  }

  void kill() const {
    ::kill(process_, SIGKILL);
    int status = 0;
    ::waitpid(process_, &status, 0);
    EXPECT_TRUE(WIFSIGNALED(status)) << "the process that saves ended by itself";
  }

 private:
  pid_t process_ = -1;
  int reports_ = -1;
};

/// The time until a new process has saved once, the slowest of a few, in microseconds.
std::uint32_t time_to_save(const std::filesystem::path& path) {
  using Clock = std::chrono::steady_clock;
  Clock::duration slowest{};
  for (int i = 0; i < 5; ++i) {
    const Clock::time_point start = Clock::now();
    const Saver saver(path, 1);
    EXPECT_EQ(saver.next_report(), 1);
    slowest = std::max(slowest, Clock::now() - start);
    saver.kill();
  }
  using Microseconds = std::chrono::duration<std::uint32_t, std::micro>;
  return std::chrono::duration_cast<Microseconds>(slowest).count() + 1;
}

TEST(SaveCheckpoint, KilledAtAnyMomentLeavesTheOldOneOrTheNew) {
  const TemporaryFolder folder;
  const auto path = folder.path() / "c.safetensors";
  // About half of the kills come after a save, and all of them end in time.
  const std::uint32_t reach = std::min(2 * time_to_save(path), std::uint32_t{100000});
  index_t newest = 1;
  save_checkpoint(path, generation(newest));
  Rng rng(7);
  for (int kill = 0; kill < 200; ++kill) {
    const Saver saver(path, newest + 1);
    ::usleep(rng.next_u32() % reach);
    saver.kill();
    index_t reported = newest;
    while (const index_t number = saver.next_report()) reported = number;
    const Checkpoint loaded = load_checkpoint(path);
    newest = loaded.integer("generation");
    // One more may have been saved than reported.
    ASSERT_TRUE(newest == reported || newest == reported + 1) << newest << " after " << reported;
    expect_generation(loaded, newest);
    ASSERT_LE(folder.file_count(), 2) << "what killed processes left piles up";
  }
  EXPECT_GT(newest, 20) << "hardly anything was saved";
  save_checkpoint(path, generation(newest));
  EXPECT_EQ(folder.file_count(), 1);
}

}  // namespace
}  // namespace tessera::nn
