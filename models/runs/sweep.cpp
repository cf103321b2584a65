#include "models/runs/sweep.h"

#include <algorithm>
#include <csignal>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

#include "models/pages/rows.h"
#include "models/runs/detail/children.h"
#include "models/runs/interrupts.h"
#include "models/runs/run_lock.h"
#include "models/text/text_file.h"
#include "tensor/detail/parse_number.h"
#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::runs {

namespace {

constexpr const char* kResultsFile = "runs.csv";
constexpr const char* kOptionsFile = "options.csv";
constexpr const char* kTableFile = "sweep.csv";
constexpr const char* kPageFile = "sweep.html";
constexpr const char* kOutputFile = "output.txt";
constexpr int kStopped = 75;  // the exit code of a child that was stopped, but by no signal

class Sweep {
 public:
  Sweep(const SweepOptions& options, const SweepHooks& hooks)
      : options_(options),
        hooks_(hooks),
        runs_(plan_runs(options.folder, options.axes, options.seeds)),
        lock_(lock_of_checkpoints(options.folder.string(), kResultsFile)) {
    if (options.overwrite) forget();
    check_facts();
    read_results();
  }

  SweepEnding run(const std::function<Ending(const SweepRun&)>& train) {
    const Ending last = options_.jobs > 0 ? in_children(train) : in_this_process(train);
    SweepEnding ending = {.is_finished = results_.size() == runs_.size(), .signal = last.signal};
    if (ending.is_finished) {
      ending.text = pages::table_text(write_table());
      ending.signal = 0;
    } else {
      ending.text = str_cat("stopped: ", results_.size(), " of ", runs_.size(),
                            " runs are finished; start it again",
                            options_.overwrite ? " without overwriting" : "", " to continue\n");
    }
    return ending;
  }

 private:
  std::string file(const char* name) const { return (options_.folder / name).string(); }

  void forget() const {
    std::error_code error;
    for (const char* const name : {kResultsFile, kOptionsFile, kTableFile, kPageFile}) {
      std::filesystem::remove(file(name), error);
    }
    for (const auto& checkpoint : checkpoints()) std::filesystem::remove(checkpoint, error);
  }

  /// Of all runs that were begun in the folder, also those of other axes.
  std::vector<std::filesystem::path> checkpoints() const {
    std::vector<std::filesystem::path> found;
    std::error_code error;
    for (std::filesystem::directory_iterator run(options_.folder, error), end; !error && run != end;
         run.increment(error)) {
      const std::filesystem::path checkpoint = run->path() / kCheckpointFile;
      if (std::error_code none; std::filesystem::exists(checkpoint, none))
        found.push_back(checkpoint);
    }
    return found;
  }

  /// Whether a run has left anything that this call would use.
  bool is_begun() const {
    return std::filesystem::exists(file(kResultsFile)) || !checkpoints().empty();
  }

  void check_facts() const {
    pages::Rows rows = {{"option", "value"}};
    for (const auto& [name, value] : options_.facts) rows.push_back({name, value});
    const std::string text = pages::csv_text(rows), path = file(kOptionsFile);
    if (!std::filesystem::exists(path) || !is_begun()) return write_text(path, text);
    const std::vector<std::string> before = text::read_lines(path), now = text::split_lines(text);
    if (before == now) return;
    const auto [old_line, new_line] = std::ranges::mismatch(before, now);
    const auto shown = [](const auto& line, const auto& lines) {
      return line == lines.end() ? std::string("nothing") : printable(*line);
    };
    fail_file(path, "options must be those of the sweep, ", shown(old_line, before), ", got ",
              shown(new_line, now), "; use a different folder, or overwrite it");
  }

  void read_results() {
    const std::string path = file(kResultsFile);
    if (!std::filesystem::exists(path)) return;
    const std::vector<std::string> lines = text::read_lines(path);
    std::string axes;
    for (const SweepAxis& axis : options_.axes) axes += axis.name + ',';
    const std::string want = axes + "seed,steps,best_step,";
    if (lines.empty() || !lines.front().starts_with(want)) {
      fail_file(path, "line 1: must begin with ", want, ", got ",
                printable(lines.empty() ? "" : lines.front()), "; use a different folder");
    }
    const std::string measure = lines.front().substr(want.size());
    for (const SweepRun& run : runs_) {
      std::string begin;
      for (const auto& [name, value] : run.values) begin += value + ',';
      begin += str_cat(run.seed, ',');
      for (std::size_t i = 1; i < lines.size(); ++i) {
        if (!lines[i].starts_with(begin)) continue;
        results_[run.name] =
            parsed(run, measure, lines[i].substr(begin.size()), str_cat(path, ": line ", i + 1));
      }
    }
  }

  /// The result in the cells "20,15,0.875" of its line.
  static SweepResult parsed(const SweepRun& run, const std::string& measure,
                            const std::string& cells, const std::string& place) {
    SweepResult result = {.run = run, .measure = measure};
    const std::size_t first = cells.find(','), second = cells.find(',', first + 1);
    index_t best = 0;
    const bool has_best = second > first + 1;
    if (second == std::string::npos || !parse_number(cells.substr(0, first), result.steps) ||
        (has_best && !parse_number(cells.substr(first + 1, second - first - 1), best)) ||
        !parse_number(cells.substr(second + 1), result.value)) {
      fail_file(place, "must end with steps, best step and ", measure, ", got ", printable(cells));
    }
    if (has_best) result.best_step = best;
    return result;
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
    if (hooks_.begin) hooks_.begin(run);
  }

  void finish(const SweepRun& run) {
    const SweepResult result = result_of(run);
    for (const auto& [name, other] : results_) {
      if (other.measure == result.measure) continue;
      fail_file((run.folder / kLogFile).string(), "measure must be that of ", name, ", ",
                other.measure, ", got ", result.measure);
    }
    results_[run.name] = result;
    write_text(file(kResultsFile), pages::csv_text(result_rows(results())));
    if (hooks_.end) hooks_.end(result, results_.size(), runs_.size());
  }

  Ending in_this_process(const std::function<Ending(const SweepRun&)>& train) {
    const InterruptScope scope;
    for (const SweepRun& run : runs_) {
      if (noted_signal() != 0) return {.why = nn::RunEnd::kStopped, .signal = noted_signal()};
      if (results_.contains(run.name)) continue;
      begin(run);
      if (Ending ending = train(run); ending.is_stopped()) return ending;
      finish(run);
    }
    return {};
  }

  Ending in_children(const std::function<Ending(const SweepRun&)>& train) {
    const InterruptScope scope;
    Children children;
    std::vector<const SweepRun*> waiting, started;
    for (const SweepRun& run : runs_) {
      if (!results_.contains(run.name)) waiting.push_back(&run);
    }
    std::reverse(waiting.begin(), waiting.end());
    std::optional<Ending> stopped;
    std::string failure;
    bool told = false;
    for (;;) {
      if (noted_signal() != 0) stopped = {.why = nn::RunEnd::kStopped, .signal = noted_signal()};
      const bool goes_on = !stopped && failure.empty() && !waiting.empty();
      if (goes_on && std::cmp_less(children.running(), options_.jobs)) {
        const SweepRun& run = *started.emplace_back(waiting.back());
        waiting.pop_back();
        begin(run);
        children.start(run.folder / kOutputFile, [&] {
          const Ending ending = train(run);
          return ending.is_stopped() ? std::max(ending.exit_code(), kStopped) : 0;
        });
        continue;
      }
      if (children.running() == 0) break;
      const auto [number, code] = children.wait();
      const bool is_signal = code == 128 + SIGINT || code == 128 + SIGTERM || code == 128 + SIGHUP;
      if (code == 0) {
        finish(*started[number]);
      } else if (code == kStopped || is_signal) {
        stopped = {.why = nn::RunEnd::kStopped, .signal = is_signal ? code - 128 : 0};
      } else if (failure.empty()) {
        failure = failure_of(*started[number], code);
      }
      if (code != 0 && noted_signal() == 0 && !std::exchange(told, true)) {
        children.signal(SIGTERM);  // once: a second one would kill
      }
    }
    if (!failure.empty()) fail_file(options_.folder.string(), failure);
    return stopped.value_or(Ending{});
  }

  std::string failure_of(const SweepRun& run, int code) const {
    const std::string path = (run.folder / kOutputFile).string();
    const std::vector<std::string> lines = text::read_lines(path);
    std::string last = lines.empty() ? "" : ": " + escaped(lines.back());
    const std::string prefix = ": " + options_.program + ": ";
    if (last.starts_with(prefix)) last.erase(0, prefix.size() - 2);
    return str_cat(run.name, ": must end without an error, got ",
                   code > 128 ? str_cat("signal ", code - 128) : str_cat("exit code ", code), last,
                   "; see ", path);
  }

  /// Writes the files of a sweep that is finished.
  pages::Rows write_table() const {
    const std::vector<SweepResult> all = results();
    pages::Rows rows = setting_rows(all);
    write_text(file(kTableFile), pages::csv_text(rows));
    std::vector<pages::NamedRun> curves;
    for (const SweepRun& run : runs_) {
      const std::string log = (run.folder / kLogFile).string();
      curves.push_back({run.name, pages::read_run_log(text::read_text(log), log)});
    }
    pages::write_page(file(kPageFile), pages::comparison_page(curves, rows));
    return rows;
  }

  const SweepOptions& options_;
  const SweepHooks& hooks_;
  std::vector<SweepRun> runs_;
  std::shared_ptr<const RunLock> lock_;
  std::map<std::string, SweepResult> results_;  // by the run's name
};

}  // namespace

SweepEnding run_sweep(const SweepOptions& options,
                      const std::function<Ending(const SweepRun&)>& train,
                      const SweepHooks& hooks) {
  return Sweep(options, hooks).run(train);
}

}  // namespace tessera::runs
