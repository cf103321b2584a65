// tessera_bench: every benchmark of the library, under the names used in comparisons with others.
//
//   tessera_bench 'matmul/M:100/N:333/K:77'
#include <iostream>

#include "bench/case.h"
#include "bench/engine.h"
#include "bench/machine.h"
#include "bench/output.h"
#include "bench/peers/peers.h"
#include "bench/probe.h"
#include "bench/registry.h"
#include "bench/report/report.h"
#include "examples/programs/cli.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/file.h"
#include "tessera/tensor/kernels/parallel.h"

namespace {

using namespace tessera;

constexpr const char* kAbout =
    "Measures the speed of the library, next to the peaks of the machine. Every result is compared "
    "with the definition in double before it is timed.";

constexpr const char* kFooter = R"(Examples:
  tessera_bench 'matmul/M:100/N:333/K:77'          sizes of your own
  tessera_bench matmul softmax                     all cases of two kinds
  tessera_bench --filter '^attention/.*d:64'       cases whose names match
  tessera_bench --cases my_cases.txt --json a.json one name per line; # begins a comment
  OMP_NUM_THREADS=1 TESSERA_ISA=avx2 tessera_bench --filter '^linear/M:8/'

Environment:
  OMP_NUM_THREADS   threads, as --threads; all processors of the process if absent
  OMP_PROC_BIND     true keeps each thread on its processor: steadier times
  TESSERA_ISA       instruction set: baseline, avx2 or avx512; the widest available if absent

Columns:
  best, median      shortest and median time of one call
  spread            difference of the quartiles of all calls, as a fraction of the median
  calls             timed calls: as many as fit into --seconds, at least 5
  FLOP/s, of peak   operations of the definition per second, and their fraction of the peak, that of
                    multiply-adds on registers, measured half before and half after the calls
  byte/s, of mem    minimum of bytes read and written per second, as a fraction of the bandwidth
                    of a triad a = b + 3 c over arrays larger than all caches; above 100% a cache helped
  GHz               clock rate right after the calls: a chain of additions, one per cycle
  memory            peak memory of tensors during a call, without inputs and result
  error             largest error against the definition in double, divided by the bound on rounding
  noisy             the median is more than 10% above the best, or the speed 10% above the peak:
                    other programs use the machine
--json also has bandwidth by cache level.
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
}

struct Options {
  bench::Wanted wanted;
  bench::Settings settings;
  std::string json, cblas;
  bool list = false, machine = false, no_peaks = false, onednn = false;
};

void show_machine(const bench::Settings& settings) {
  const bench::Run run = {.bandwidths = bench::level_bandwidths(settings.seconds)};
  const results::Results results = results::parse_results(bench::to_json(run), "--machine");
  std::cout << results::markdown_table("machine", results) << '\n'
            << results::markdown_table("bandwidth", results)
            << "\nclock: " << str_cat(bench::clock_ghz()) << " GHz\n";
}

void write_files(const Options& options, bench::Run run) {
  if (options.json.empty()) return;
  if (options.settings.peaks) {
    run.bandwidths = bench::level_bandwidths(options.settings.seconds / 2);
  }
  write_text(options.json, bench::to_json(run));
}

void run_cases(const Options& options, const bench::EngineFlags& flags) {
  const std::vector<bench::Selected> cases = bench::select_cases(options.wanted);
  bench::Run run;
  if (!flags.own_format) {
    const Json machine = parse_json(run.machine.text(), "machine");
    std::cout << machine.text("cpu") << ", " << machine.integer("threads") << " thread(s), "
              << machine.text("isa") << ", load " << machine.number("load") << "\n"
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
    throw std::runtime_error(str_cat("all cases must succeed, got ", failures, " failed"));
}

}  // namespace

int main(int argc, char** argv) {
  const bench::EngineFlags flags = bench::take_engine_flags(argc, argv);
  Options options;
  options.wanted.filter = flags.filter;
  examples::Command command("tessera_bench", kAbout);
  command.add_footer(kFooter);
  command.add_arguments("NAME", options.wanted.names, "cases or kinds to measure; all if absent");
  command.add_input("--cases", options.wanted.file, "file of case names, one per line");
  command.add("--filter", options.wanted.filter, "regular expression that case names must match");
  command.add("--seconds", options.settings.seconds, "seconds of measurement per case",
              {0.001, 600});
  command.add("--slow", options.settings.slow,
              "fraction by which each call is delayed, to test comparisons", {0, 10});
  command.add("--no-peaks", options.no_peaks, "no measurement of peaks and bandwidths");
  command.add("--cblas", options.cblas, "shared library with CBLAS, whose matmul is measured too");
  command.add("--onednn", options.onednn,
              "measurement of the cases with oneDNN too, if it supports them");
  command.add_output("--json", options.json, "JSON file for all results");
  command.add("--list", options.list,
              "list of the kinds and the case names instead of measurements");
  command.add("--machine", options.machine,
              "table of the processor, its peaks and its bandwidths instead of cases");
  return command.run(argc, argv, [&] {
    register_all();
    // By default the library uses one thread while other programs use the processors: then figures
    // would be for one thread, and peaks and cases for different numbers.
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
