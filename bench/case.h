// One benchmark: work that knows its cost and checks its own result before it is timed.
#pragma once

#include <functional>
#include <string>

#include "tensor/tensor.h"

namespace tessera::bench {

/// What one call must do at least: floating point operations, and bytes read and written if nothing
/// were read twice. 0 where a figure says nothing.
struct Cost {
  double flops = 0;
  double bytes = 0;
};

/// The call to be timed, and the largest error of its result against the definition in double,
/// relative to what float32 allows: at most 1 is right. The label is printed after the figures.
struct Case {
  std::function<Tensor()> run;
  std::function<double(const Tensor& result)> error;
  std::string label = {};
};

/// Registers a benchmark under `name`. `make` is called when it is about to run, so that memory is
/// taken only then.
///
/// The time reported is the wall time of the best call of those in 0.4 seconds, five at least: what
/// is measured is the code, not the machine's other tenants. Counters: FLOP/s and bytes/s, and each
/// as a fraction of the peak that probe.h measured in this run.
void register_case(const std::string& name, const Cost& cost, std::function<Case()> make);

/// The largest |result - expected| / tolerance, over the elements that `expected(index)`
/// is computed for: `samples` of them, spread over the result.
double sampled_error(const Tensor& result, index_t samples,
                     const std::function<double(index_t)>& expected, double tolerance);

// One function per subject registers its cases, by the names of the comparison with other
// libraries.
void register_matmul();
void register_linear();
void register_attention();
void register_attention_backward();
void register_rows();
void register_training();
void register_encoder();
void register_matmul_ladder();
void register_busy();

/// The argument with which this program does run_busy_worker() and nothing else.
inline constexpr const char* kBusyWorker = "--busy-worker";
void run_busy_worker();

}  // namespace tessera::bench
