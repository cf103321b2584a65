#include "models/runs/sweep.h"

#include <algorithm>
#include <csignal>
#include <deque>
#include <exception>
#include <fstream>
#include <map>
#include <memory>
#include <system_error>
#include <utility>

#include "models/pages/comparison_page.h"
#include "models/pages/rows.h"
#include "models/runs/detail/children.h"
#include "models/runs/interrupts.h"
#include "models/text/text_file.h"
#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::runs {

namespace {

constexpr const char* kResultsFile = "runs.csv";
constexpr const char* kOptionsFile = "options.csv";
constexpr const char* kTableFile = "sweep.csv";
constexpr const char* kPageFile = "sweep.html";
constexpr const char* kFinishedFile = "finished";  // in a run's folder, once it has a result
constexpr const char* kOutputFile = "output.txt";
constexpr int kStopped = 75;  // the exit code of a child that was stopped, but by no signal

class Sweep {
 public:
  Sweep(const SweepOptions& options, const SweepCallbacks& callbacks)
      : options_(options),
        callbacks_(callbacks),
        runs_(plan_runs(options.folder, options.axes, options.seeds)),
        lock_(lock_folder(options.folder, kResultsFile)) {
    if (options.overwrite) forget();
    check_facts();
    for (const SweepRun& run : runs_) {
      if (std::filesystem::exists(run.folder / kFinishedFile)) add_result(run);
    }
  }

  SweepEnding run(const std::function<Ending(const SweepRun&)>& train) {
    const Ending last = options_.jobs > 0 ? in_children(train) : in_this_process(train);
    SweepEnding ending = {.is_finished = results_.size() == runs_.size()};
    const std::string cure =
        str_cat("start it again", options_.overwrite ? " without overwriting" : "", " to ");
    if (!failures_.empty()) {
      const auto first = std::ranges::find_if(
          runs_, [&](const SweepRun& each) { return failures_.contains(each.name); });
      ending.error =
          str_cat(failures_.size(), " of ", runs_.size(), " runs failed, first ", first->name, ": ",
                  failures_.at(first->name), "; ", cure, "repeat them");
    }
    if (last.is_stopped() && !ending.is_finished) {
      ending.signal = last.signal;
      ending.text = str_cat("stopped: ", results_.size(), " of ", runs_.size(),
                            " runs are finished; ", cure, "continue\n");
    } else if (!results_.empty()) {
      ending.text = pages::table_text(write_table());
    }
    return ending;
  }

 private:
  std::string file(const char* name) const { return (options_.folder / name).string(); }

  /// The facts go last: as long as a run is left, they say what made it.
  void forget() const {
    for (const auto& folder : begun()) {
      std::filesystem::remove(folder / kFinishedFile);
      std::filesystem::remove(folder / kCheckpointFile);
    }
    for (const char* const name : {kResultsFile, kTableFile, kPageFile, kOptionsFile}) {
      std::filesystem::remove(file(name));
    }
  }

  /// The folders of all runs that have a checkpoint or a result, also of other axes.
  std::vector<std::filesystem::path> begun() const {
    std::vector<std::filesystem::path> found;
    std::error_code error;
    for (std::filesystem::directory_iterator run(options_.folder, error), end; !error && run != end;
         run.increment(error)) {
      for (const char* const name : {kCheckpointFile, kFinishedFile}) {
        std::error_code none;
        if (!std::filesystem::exists(run->path() / name, none)) continue;
        found.push_back(run->path());
        break;
      }
    }
    return found;
  }

  void check_facts() const {
    pages::Rows rows = {{"option", "value"}};
    for (const auto& [name, value] : options_.facts) rows.push_back({name, value});
    const std::string text = pages::csv_text(rows), path = file(kOptionsFile);
    if (!std::filesystem::exists(path) || begun().empty()) return write_text(path, text);
    const std::vector<std::string> before = text::read_lines(path), now = text::split_lines(text);
    if (before == now) return;
    const auto [old_line, new_line] = std::ranges::mismatch(before, now);
    const auto shown = [](const auto& line, const auto& lines) {
      return line == lines.end() ? std::string("nothing") : printable(*line);
    };
    fail_file(path, "options must be those of the sweep, ", shown(old_line, before), ", got ",
              shown(new_line, now), "; use a different folder, or overwrite it");
  }

  std::vector<SweepResult> results() const {
    std::vector<SweepResult> found;
    for (const SweepRun& run : runs_) {
      const auto result = results_.find(run.name);
      if (result != results_.end()) found.push_back(result->second);
    }
    return found;
  }

  void begin(const SweepRun& run) const {
    std::filesystem::create_directories(run.folder);
    if (callbacks_.begin) callbacks_.begin(run);
  }

  const SweepResult& add_result(const SweepRun& run) {
    const SweepResult result = result_of(run);
    for (const auto& [name, other] : results_) {
      if (other.measure == result.measure) continue;
      fail_file((run.folder / kLogFile).string(), "measure must be that of ", name, ", ",
                other.measure, ", got ", result.measure);
    }
    return results_[run.name] = result;
  }

  void finish(const SweepRun& run) {
    const SweepResult* result = nullptr;
    try {
      result = &add_result(run);
    } catch (const std::exception& error) {
      return fail(run, error.what());
    }
    write_text(run.folder / kFinishedFile, "");
    write_text(file(kResultsFile), pages::csv_text(result_rows(results())));
    if (callbacks_.end) callbacks_.end(*result, results_.size(), runs_.size());
  }

  void fail(const SweepRun& run, const std::string& error) {
    failures_[run.name] = error;
    if (callbacks_.failure) callbacks_.failure(run, error);
  }

  Ending in_this_process(const std::function<Ending(const SweepRun&)>& train) {
    const InterruptScope scope;
    for (const SweepRun& run : runs_) {
      if (noted_signal() != 0) return {.why = nn::RunEnd::kStopped, .signal = noted_signal()};
      if (results_.contains(run.name)) continue;
      begin(run);
      try {
        if (Ending ending = train(run); ending.is_stopped()) return ending;
      } catch (const std::exception& error) {
        fail(run, error.what());
        continue;
      }
      finish(run);
    }
    return {};
  }

  Ending in_children(const std::function<Ending(const SweepRun&)>& train) {
    const InterruptScope scope;
    Children children;
    std::deque<const SweepRun*> waiting;
    std::vector<const SweepRun*> started;
    for (const SweepRun& run : runs_) {
      if (!results_.contains(run.name)) waiting.push_back(&run);
    }
    Ending last;
    for (;;) {
      if (noted_signal() != 0) last = {.why = nn::RunEnd::kStopped, .signal = noted_signal()};
      if (!last.is_stopped() && !waiting.empty() &&
          std::cmp_less(children.running(), options_.jobs)) {
        const SweepRun& run = *started.emplace_back(waiting.front());
        waiting.pop_front();
        begin(run);
        children.start(run.folder / kOutputFile, [&] {
          const Ending ending = train(run);
          return ending.is_stopped() ? std::max(ending.exit_code(), kStopped) : 0;
        });
        continue;
      }
      if (children.running() == 0) return last;
      const auto [number, code] = children.wait();
      const bool is_signal = code == 128 + SIGINT || code == 128 + SIGTERM || code == 128 + SIGHUP;
      if (code == 0) {
        finish(*started[number]);
      } else if (code != kStopped && !is_signal) {
        fail(*started[number], error_of(*started[number], code));
      } else if (!last.is_stopped()) {
        last = {.why = nn::RunEnd::kStopped, .signal = is_signal ? code - 128 : 0};
        if (noted_signal() == 0) children.signal(SIGTERM);  // once: a second one would kill
      }
    }
  }

  /// The error of a child: the last line of its output, if it has written any.
  std::string error_of(const SweepRun& run, int code) const {
    const std::string path = (run.folder / kOutputFile).string();
    std::string last;
    std::ifstream output(path);
    for (std::string line; std::getline(output, line);) last = ": " + escaped(line);
    const std::string prefix = ": " + options_.program + ": ";
    if (last.starts_with(prefix)) last.erase(0, prefix.size() - 2);
    return str_cat("must end without an error, got ",
                   code > 128 ? str_cat("signal ", code - 128) : str_cat("exit code ", code), last,
                   "; see ", path);
  }

  /// Writes the files of a sweep after its last run.
  pages::Rows write_table() const {
    const std::vector<SweepResult> all = results();
    pages::Rows rows = setting_rows(all);
    write_text(file(kResultsFile), pages::csv_text(result_rows(all)));
    write_text(file(kTableFile), pages::csv_text(rows));
    std::vector<pages::NamedRun> curves;
    for (const SweepResult& result : all) {
      const std::string log = (result.run.folder / kLogFile).string();
      const bool has_page = std::filesystem::exists(result.run.folder / kReportFile);
      curves.push_back({.name = result.run.name,
                        .steps = pages::read_run_log(text::read_text(log), log),
                        .setting = result.run.setting.empty() ? "all runs" : result.run.setting,
                        .seed = str_cat("seed=", result.run.seed),
                        .page = has_page ? result.run.name + '/' + kReportFile : ""});
    }
    pages::write_page(file(kPageFile), pages::comparison_page(curves));
    return rows;
  }

  const SweepOptions& options_;
  const SweepCallbacks& callbacks_;
  std::vector<SweepRun> runs_;
  std::shared_ptr<const FileLock> lock_;
  std::map<std::string, SweepResult> results_;   // by the run's name
  std::map<std::string, std::string> failures_;  // the errors, by the runs' names
};

}  // namespace

SweepEnding run_sweep(const SweepOptions& options,
                      const std::function<Ending(const SweepRun&)>& train,
                      const SweepCallbacks& callbacks) {
  return Sweep(options, callbacks).run(train);
}

}  // namespace tessera::runs
