// tessera_bench: every benchmark of the library, by the names used in comparisons with others.
//
//   tessera_bench --benchmark_filter=matmul
#include <benchmark/benchmark.h>

#include <string_view>

#include "bench/case.h"
#include "bench/probe.h"
#include "tensor/error.h"
#include "tensor/kernels/dispatch.h"
#include "tensor/kernels/parallel.h"

int main(int argc, char** argv) {
  using namespace tessera;
  if (argc == 2 && std::string_view(argv[1]) == bench::kBusyWorker) {
    bench::run_busy_worker();
    return 0;
  }
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  bench::register_matmul();
  bench::register_matmul_ladder();
  bench::register_linear();
  bench::register_attention();
  bench::register_attention_backward();
  bench::register_rows();
  bench::register_encoder();
  bench::register_training();
  bench::register_busy();
  benchmark::AddCustomContext("isa", current_isa());
  benchmark::AddCustomContext("threads", format(thread_count()));
  benchmark::AddCustomContext("peak_flops", format(bench::peak_flops()));
  benchmark::AddCustomContext("stream_bytes_per_second", format(bench::stream_bandwidth()));
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  return 0;
}
