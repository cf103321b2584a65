#include "bench/engine.h"

#include <benchmark/benchmark.h>

#include <cstdlib>
#include <memory>
#include <optional>
#include <string_view>

#include "tessera/tensor/detail/parse_number.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/dispatch.h"
#include "tessera/tensor/kernels/parallel.h"

namespace tessera::bench {

namespace {

/// The text after `flag=`, nullopt if `text` is a different flag.
std::optional<std::string> value_of(std::string_view text, std::string_view flag) {
  if (!text.starts_with(flag)) return {};
  text.remove_prefix(flag.size());
  if (text.empty()) return "true";
  if (text.front() != '=') return {};
  return std::string(text.substr(1));
}

benchmark::TimeUnit unit_of(double seconds) {
  if (seconds < 1e-6) return benchmark::kNanosecond;
  if (seconds < 1e-3) return benchmark::kMicrosecond;
  return seconds < 1 ? benchmark::kMillisecond : benchmark::kSecond;
}

/// Wraps a reporter: passes names without the suffixes "/iterations:1/manual_time", and fitting
/// units.
class PlainNames : public benchmark::BenchmarkReporter {
 public:
  explicit PlainNames(benchmark::BenchmarkReporter* inner) : inner_(inner) {}

  bool ReportContext(const Context& context) override {
    inner_->SetOutputStream(&GetOutputStream());
    inner_->SetErrorStream(&GetErrorStream());
    return inner_->ReportContext(context);
  }
  void ReportRuns(const std::vector<Run>& runs) override {
    std::vector<Run> plain = runs;
    for (Run& run : plain) {
      run.run_name.iterations.clear();
      run.run_name.time_type.clear();
      run.time_unit = unit_of(run.real_accumulated_time);
    }
    inner_->ReportRuns(plain);
  }
  void Finalize() override { inner_->Finalize(); }

 private:
  std::unique_ptr<benchmark::BenchmarkReporter> inner_;
};

/// Prints nothing, because the caller prints.
class Silent : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

void show(const Result& result, benchmark::State& state) {
  state.SetIterationTime(result.best_s);
  const auto add = [&](const std::string& name, double value) {
    if (value != 0) state.counters[name] = value;
  };
  add("FLOP/s", result.flops_s());
  add("bytes/s", result.bytes_s());
  if (result.peak_flops > 0) add("of_peak", result.flops_s() / result.peak_flops);
  if (result.peak_bytes_s > 0) add("of_stream", result.bytes_s() / result.peak_bytes_s);
  add("calls", static_cast<double>(result.calls));
  add("median_s", result.median_s);
  add("error", result.error.value_or(0));
  state.SetLabel(result.label);
}

}  // namespace

EngineFlags take_engine_flags(int& argc, char** argv) {
  EngineFlags flags;
  std::vector<char*> engine = {argv[0]};
  int kept = 1;
  bool json = true;
  for (int i = 1; i < argc; ++i) {
    const std::string_view text = argv[i];
    if (!text.starts_with("--benchmark_")) {
      argv[kept++] = argv[i];
      continue;
    }
    if (value_of(text, "--benchmark_list_tests")) {
      flags.list = true;
      continue;
    }
    if (const auto seconds = value_of(text, "--benchmark_min_time")) {
      flags.min_time = *seconds;
      continue;
    }
    if (const auto filter = value_of(text, "--benchmark_filter")) {
      flags.filter = *filter;
      continue;
    }
    flags.own_format = flags.own_format || value_of(text, "--benchmark_format");
    flags.json_file = flags.json_file || value_of(text, "--benchmark_out");
    if (const auto format = value_of(text, "--benchmark_out_format")) json = *format == "json";
    engine.push_back(argv[i]);
  }
  flags.json_file = flags.json_file && json;
  argc = kept;
  argv[argc] = nullptr;
  int count = static_cast<int>(engine.size());
  engine.push_back(nullptr);
  benchmark::Initialize(&count, engine.data());
  if (benchmark::ReportUnrecognizedArguments(count, engine.data())) std::exit(2);
  return flags;
}

double seconds_of(const std::string& min_time) {
  double seconds = 0;
  const std::string_view number(min_time.data(),
                                min_time.size() - (min_time.ends_with('s') ? 1 : 0));
  require(parse_number(number, seconds) && seconds >= 0.001 && seconds <= 600, "tessera_bench",
          "--benchmark_min_time must be from 0.001 to 600 seconds, got '", min_time, "'");
  return seconds;
}

void run_engine(const std::vector<Selected>& cases, const Settings& settings,
                const EngineFlags& flags, const std::function<void(Result)>& done) {
  for (const Selected& selected : cases) {
    const std::string by = selected.by == "tessera" ? "" : "/by:" + selected.by;
    const auto body = [&, selected](benchmark::State& state) {
      for ([[maybe_unused]] auto iteration : state) {
        Result result = measure(selected, settings);
        if (result.failure.empty()) {
          show(result, state);
        } else {
          state.SkipWithError(result.failure.c_str());
        }
        done(std::move(result));
        if (state.error_occurred()) break;
      }
    };
    benchmark::RegisterBenchmark((selected.name + by).c_str(), body)
        ->Iterations(1)
        ->UseManualTime();
  }
  benchmark::AddCustomContext("isa", current_isa());
  benchmark::AddCustomContext("threads", str_cat(thread_count()));
  std::unique_ptr<benchmark::BenchmarkReporter> display = std::make_unique<Silent>();
  if (flags.own_format) {
    display = std::make_unique<PlainNames>(benchmark::CreateDefaultDisplayReporter());
  }
  std::unique_ptr<benchmark::BenchmarkReporter> file;
  if (flags.json_file) file = std::make_unique<PlainNames>(new benchmark::JSONReporter);
  benchmark::RunSpecifiedBenchmarks(display.get(), file.get(), ".");
  benchmark::Shutdown();
}

}  // namespace tessera::bench
