// A small training next to others that use the processors: default threads against one thread.
//
// Each copy is a process, as a second experiment would be: this program started again with
// kBusyWorker, which trains an encoder for some steps and ends.
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <string>
#include <thread>
#include <vector>

#include "bench/case.h"
#include "bench/registry.h"
#include "models/encoder.h"
#include "nn/training/optim.h"
#include "tensor/autograd/tape.h"
#include "tensor/error.h"
#include "tensor/ops/reduce.h"
#include "tensor/ops/unary.h"
#include "tensor/random.h"

namespace tessera::bench {

namespace {

/// The environment of this process with another OMP_NUM_THREADS, or without.
std::vector<std::string> environment(bool one_thread) {
  std::vector<std::string> result;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string text = *entry;
    if (!text.starts_with("OMP_NUM_THREADS=")) result.push_back(text);
  }
  if (one_thread) result.push_back("OMP_NUM_THREADS=1");
  return result;
}

std::vector<char*> pointers(std::vector<std::string>& texts) {
  std::vector<char*> result;
  for (std::string& text : texts) result.push_back(text.data());
  result.push_back(nullptr);
  return result;
}

/// Runs `copies` workers at once; their wall time until the last has ended.
double seconds_of_copies(index_t copies, bool one_thread) {
  std::vector<std::string> arguments = {"tessera_bench", kBusyWorker};
  std::vector<std::string> variables = environment(one_thread);
  const auto start = std::chrono::steady_clock::now();
  std::vector<pid_t> workers;
  bool all_well = true;
  for (index_t copy = 0; copy < copies; ++copy) {
    pid_t worker = 0;
    all_well = all_well && posix_spawn(&worker, "/proc/self/exe", nullptr, nullptr,
                                       pointers(arguments).data(), pointers(variables).data()) == 0;
    if (all_well) workers.push_back(worker);
  }
  for (const pid_t worker : workers) {
    int status = 0;
    all_well = waitpid(worker, &status, 0) == worker && status == 0 && all_well;
  }
  if (!all_well) fail("busy", "all copies of this program must start and end without an error");
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}

/// Threads that only turn, until they are let go.
class BusyLoops {
 public:
  explicit BusyLoops(index_t count) {
    for (index_t i = 0; i < count; ++i) {
      threads_.emplace_back([this] {
        while (!done_.load(std::memory_order_relaxed)) {
        }
      });
    }
  }
  ~BusyLoops() {
    done_ = true;
    for (std::thread& thread : threads_) thread.join();
  }
  BusyLoops(const BusyLoops&) = delete;
  BusyLoops& operator=(const BusyLoops&) = delete;

 private:
  std::atomic<bool> done_ = false;
  std::vector<std::thread> threads_;
};

/// The two in turn: with the default threads, and with one for each copy.
OwnTimes measure_busy(index_t copies, index_t loops) {
  constexpr int kTurns = 3;
  const BusyLoops busy(loops);
  OwnTimes times;
  double one = HUGE_VAL;
  for (int turn = 0; turn < kTurns; ++turn) {
    one = std::min(one, seconds_of_copies(copies, true));
    times.seconds.push_back(seconds_of_copies(copies, false));
  }
  const double best = *std::min_element(times.seconds.begin(), times.seconds.end());
  times.figures = {{"one_thread_ms", 1e3 * one}, {"ratio", best / one}};
  return times;
}

Work busy_work(Parameters& p) {
  constexpr index_t kMost = 256;  // processes and threads: more bring a machine to a halt
  const index_t copies = p.size("copies", 1, 1, kMost);
  const index_t loops = p.size("loops", 0, 0, kMost);
  const auto make = [=] {
    Case busy;
    busy.measure = [=] { return measure_busy(copies, loops); };
    return busy;
  };
  return {{}, make};
}

}  // namespace

void run_busy_worker() {
  constexpr int kSteps = 150;
  Rng rng(1);
  models::Encoder encoder(
      {.layers = models::repeat_layer({.d_model = 48, .nhead = 4, .dim_feedforward = 192}, 2)},
      rng);
  nn::set_requires_grad(encoder);
  nn::AdamW optimizer(nn::parameters(encoder), {.lr = 1e-4});
  const Tensor x = uniform({64, 12, 48}, -1, 1);
  for (int step = 0; step < kSteps; ++step) {
    nn::zero_grad(encoder);
    Tape tape;
    tape.backward(mean(square(encoder(x))));
    optimizer.step();
  }
}

void register_busy() {
  register_kind({.name = "busy",
                 .pattern = "busy[/copies:][/loops:]",
                 .what = "processes that train at once, next to processes in busy loops; ratio is "
                         "the time with default threads over that with one thread each",
                 .names = {"busy/copies:1", "busy/copies:2", "busy/copies:4", "busy/loops:4"},
                 .work = busy_work});
}

}  // namespace tessera::bench
