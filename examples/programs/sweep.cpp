// --seeds and --sweep of the training programs: each run is a call of the program itself.
#include <unistd.h>

#include <algorithm>
#include <iostream>
#include <utility>

#include "examples/programs/processes.h"
#include "examples/programs/program.h"
#include "examples/programs/same_files.h"
#include "tensor/error.h"

namespace tessera::examples {

namespace {

constexpr const char* kModelFolder = "model";  // of a pretrained model, in the folder of its run

/// Replaces this process by a call of the program. **Errors**: the program cannot be started.
[[noreturn]] void become(std::vector<std::string> words) {
  std::vector<char*> arguments;
  for (std::string& word : words) arguments.push_back(word.data());
  arguments.push_back(nullptr);
  ::execv("/proc/self/exe", arguments.data());
  fail_file(words.front(), "cannot be started");
}

}  // namespace

/// Checks the options before the first run begins. Each run has its own --save and output files.
runs::SweepOptions Program::sweep_options() {
  const bool is_pretrained = save_flag_ != "--save";
  const std::string folder = is_pretrained ? file("--save") : options.save;
  require(!folder.empty(), name().c_str(),
          "--seeds and --sweep must be combined with --save DIR, a folder for all runs");
  require(processes().size() == 1, name().c_str(), "a sweep must be started in one process, got ",
          processes().size(), "; start it without mpirun, and give --jobs");
  for (const char* const flag : {"--resume", "--checkpoint", "--log", "--report", "--attention",
                                 "--max-steps", "--predict", "--fill", "--profile"}) {
    require(!is_given(flag), name().c_str(), flag, " must not be combined with --seeds or --sweep");
  }
  require(!is_given("--seed") || options.seeds.empty(), name().c_str(),
          "--seed must not be combined with --seeds");
  const std::vector<std::string> of_sweep = {"--seeds", "--sweep", "--jobs",
                                             "--save",  "--seed",  "--overwrite"};
  common_ = given(of_sweep);
  runs::SweepOptions sweep = {.folder = folder,
                              .seeds = {options.seed},
                              .jobs = options.jobs,
                              .program = name(),
                              .overwrite = options.overwrite};
  for (const auto& [flag, value] : values()) {
    const bool changes_bits =
        flag != "--threads" && flag != "--gradient-checkpoint" && flag != "--profile";
    if (changes_bits && std::ranges::count(of_sweep, flag) == 0) {
      std::error_code error;
      const bool is_file = !value.empty() && std::filesystem::exists(value, error);
      sweep.facts.emplace_back(flag, is_file ? value + ": " + contents_digest(value) : value);
    }
  }
  if (!options.seeds.empty()) sweep.seeds = runs::parse_seeds(options.seeds);
  for (const std::string& text : options.sweep) {
    const runs::SweepAxis& axis = sweep.axes.emplace_back(runs::parse_axis(text));
    for (const std::string& value : axis.values) check_kept("--" + axis.name, value);
  }
  return sweep;
}

/// The command line of a run, which continues the state in its folder.
std::vector<std::string> Program::words_of(const runs::SweepRun& run) const {
  const std::string folder = run.folder.string();
  std::vector<std::string> words = {name()};
  words.insert(words.end(), common_.begin(), common_.end());
  const auto add = [&](const std::string& flag, const std::string& value) {
    words.insert(words.end(), {flag, value});
  };
  for (const auto& [axis, value] : run.values) add("--" + axis, value);
  add("--seed", str_cat(run.seed));
  if (save_flag_ != "--save") {
    add("--save", (run.folder / kModelFolder).string());
    words.emplace_back("--overwrite");  // of this run, if it was stopped
  }
  add(save_flag_, folder);
  add("--log", (run.folder / runs::kLogFile).string());
  add("--report", (run.folder / runs::kReportFile).string());
  if (std::filesystem::exists(checkpoint_in(folder))) add("--resume", folder);
  if (options.jobs > 1 && threads() == 0) add("--threads", "1");
  return words;
}

/// Calls the program for each run, then prints the table. **Errors**: StoppedBySignal.
void Program::run_sweep() {
  const runs::SweepOptions sweep = sweep_options();
  const runs::SweepEnding ending = runs::run_sweep(
      sweep, [&](const runs::SweepRun& run) -> runs::Ending { become(words_of(run)); },
      {.end =
           [](const runs::SweepResult& result, std::size_t finished, std::size_t runs) {
             std::cout << finished << '/' << runs << "  " << result.run.name << "  "
                       << result.measure << ' ' << result.value << std::endl;
           },
       .failure =
           [](const runs::SweepRun& run, const std::string& error) {
             std::cout << "failed  " << run.name << ": " << error << std::endl;
           }});
  std::cout << (ending.signal == 0 ? "\n" : "") << ending.text << std::flush;
  if (ending.signal != 0) throw StoppedBySignal{ending.signal};
  if (!ending.error.empty()) fail_file(sweep.folder.string(), ending.error);
}

}  // namespace tessera::examples
