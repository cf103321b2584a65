// tessera_bench: every benchmark of the library, by the names used in comparisons with others.
//
//   tessera_bench 'matmul/M:100/N:333/K:77'
#include <iostream>
#include <string_view>

#include "bench/case.h"
#include "bench/console.h"
#include "bench/engine.h"
#include "bench/machine.h"
#include "bench/peers/peers.h"
#include "bench/records.h"
#include "bench/selection.h"
#include "examples/command.h"
#include "tensor/error.h"
#include "tensor/kernels/parallel.h"

namespace {

using namespace tessera;

constexpr const char* kAbout =
    "Measures how fast the library is, against what the machine can do. Every result is compared "
    "with the definition in double before its time is taken.";

constexpr const char* kFooter = R"(Examples:
  tessera_bench 'matmul/M:100/N:333/K:77'          sizes of your own
  tessera_bench matmul softmax                     two kinds' whole lists
  tessera_bench --filter '^attention/.*d:64'       the names that match
  tessera_bench --cases my_cases.txt --json a.json a name a line; # begins a comment
  OMP_NUM_THREADS=1 TESSERA_ISA=avx2 tessera_bench --filter '^linear/M:8/'

Environment:
  OMP_NUM_THREADS   threads, as --threads; all processors that the process may use if absent
  OMP_PROC_BIND     true keeps each thread on its processor: steadier times
  TESSERA_ISA       baseline, avx2 or avx512: the instruction set; the widest one if absent

Columns:
  best, median      seconds of one call: the shortest of all, and the one in the middle
  spread            between the quartiles of all calls, over the median
  calls             how many were timed: those of --seconds, five at least
  FLOP/s, of peak   operations of the definition a second, and over those that multiply-adds on
                    registers alone reach: measured half before and half after the calls
  byte/s, of mem    bytes read and written at least a second, and over those of a triad a = b + 3 c
                    over arrays that no cache holds; above 100% the data was in a cache
  GHz               the clock right after the calls: a chain of additions, one a cycle
  memory            of tensors beyond inputs and result, while a call runs
  error             the largest against the definition in double, over what rounding may do (1.00)
  noisy             the median is more than a tenth above the best: others use the machine
--json also has bandwidth by cache level, 64 samples a case and, where the machine lets us, cycles,
instructions, cache_misses and branch_misses a call (perf_event_open).
--benchmark_filter, --benchmark_format=json and the other flags of Google Benchmark work too.)";

void register_all() {
  bench::register_matmul();
  bench::register_matmul_ladder();
  bench::register_attention_ladder();
  bench::register_linear();
  bench::register_attention();
  bench::register_attention_backward();
  bench::register_rows();
  bench::register_encoder();
  bench::register_training();
  bench::register_busy();
}

struct Options {
  bench::Wanted wanted;
  bench::Settings settings;
  std::string json, csv, cblas;
  bool list = false, machine = false, no_peaks = false, onednn = false;
};

void show_machine(const bench::Settings& settings) {
  std::cout << bench::describe(bench::machine_info());
  for (const auto& level : bench::level_bandwidths(settings.seconds)) {
    std::cout << "bandwidth  " << level.level << ": " << bench::scaled_text(level.bytes_per_second)
              << "B/s over " << bench::scaled_text(static_cast<double>(level.bytes)) << "B\n";
  }
  std::cout << "clock      " << str_cat(bench::clock_ghz()) << " GHz\n";
}

void write_files(const Options& options, bench::Run run) {
  if (!options.csv.empty()) bench::write_text(options.csv, bench::to_csv(run));
  if (options.json.empty()) return;
  if (options.settings.peaks) {
    run.bandwidths = bench::level_bandwidths(options.settings.seconds / 2);
  }
  bench::write_text(options.json, bench::to_json(run));
}

void run_cases(const Options& options, const bench::EngineFlags& flags) {
  const std::vector<bench::Selected> cases = bench::select_cases(options.wanted);
  bench::check_folder_of(options.json);
  bench::check_folder_of(options.csv);
  bench::Run run;
  run.machine = bench::machine_info();
  if (!flags.own_format) {
    std::cout << run.machine.cpu << ", " << run.machine.threads << " thread(s), " << run.machine.isa
              << ", load " << str_cat(run.machine.load)
              << "; hardware counters: " << run.machine.counters << "\n"
              << bench::table_head() << std::flush;
  }
  index_t failures = 0;
  bench::run_engine(cases, options.settings, flags, [&](bench::Result result) {
    if (!flags.own_format) std::cout << bench::table_row(result) << std::flush;
    if (!result.failure.empty()) ++failures;
    run.results.push_back(std::move(result));
  });
  write_files(options, std::move(run));
  if (failures > 0)
    throw std::runtime_error(str_cat(failures, " case(s) failed: no times of these"));
}

}  // namespace

int main(int argc, char** argv) {
  if (argc == 2 && std::string_view(argv[1]) == bench::kBusyWorker) {
    bench::run_busy_worker();
    return 0;
  }
  const bench::EngineFlags flags = bench::take_engine_flags(argc, argv);
  Options options;
  options.wanted.filter = flags.filter;
  examples::Command command("tessera_bench", kAbout);
  command.add_footer(kFooter);
  command.add_arguments("NAME", options.wanted.names, "cases or kinds; all if absent",
                        examples::Need::kOptional);
  command.add("--cases", options.wanted.file, "a file of names, one a line");
  command.add("--filter", options.wanted.filter, "a regular expression that names must match");
  command.add("--seconds", options.settings.seconds, "of calls for each case", {0.001, 600});
  command.add("--slow", options.settings.slow,
              "each call takes this fraction longer, to see whether a comparison finds it",
              {0, 10});
  command.add("--no-peaks", options.no_peaks, "measure neither peaks nor bandwidths");
  command.add("--cblas", options.cblas, "a shared library: matmul by its cblas_sgemm too");
  command.add("--onednn", options.onednn, "cases that oneDNN has by it too");
  command.add("--json", options.json, "write everything there");
  command.add("--csv", options.csv, "write a table there");
  command.add("--list", options.list, "print the kinds and the names, and end");
  command.add("--machine", options.machine, "print what this machine is and can do, and end");
  return command.run(argc, argv, [&] {
    register_all();
    // By default the library goes on alone while others hold the processors: figures would then be
    // those of one thread, and peaks and cases those of different numbers.
    set_thread_count(thread_count());
    if (!options.cblas.empty()) bench::register_cblas(options.cblas);
    if (options.onednn) bench::register_onednn();
    options.settings.peaks = !options.no_peaks;
    if (!flags.min_time.empty()) options.settings.seconds = bench::seconds_of(flags.min_time);
    if (options.list || flags.list) {
      std::cout << bench::list_cases(options.wanted);
    } else if (options.machine) {
      show_machine(options.settings);
    } else {
      run_cases(options, flags);
    }
  });
}
