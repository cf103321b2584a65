// tessera_scaling: estimates the time of a training step on many hosts.
//
//   tessera_scaling
//   tessera_scaling --layers 12 --width 768 --feed-forward 3072 --hosts 2,16,128 --bandwidth 25
#include <algorithm>
#include <chrono>
#include <iostream>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "bench/results/units.h"
#include "bench/scaling_model.h"
#include "examples/programs/command.h"
#include "models/encoder.h"
#include "models/pages/detail/numbers.h"
#include "nn/nn.h"
#include "nn/training/detail/chunks.h"
#include "tensor/create.h"
#include "tensor/detail/parse_number.h"
#include "tensor/error.h"
#include "tensor/gradient.h"
#include "tensor/kernels/parallel.h"
#include "tensor/ops/ops.h"

namespace {

using namespace tessera;
using pages::decimals;
using results::seconds_text;

constexpr const char* kProgram = "tessera_scaling";

struct Options {
  index_t layers = 6, width = 384, heads = 12, feed_forward = 1536;
  index_t batch_size = 8, tokens = 128;
  std::string hosts = "2,4,8,16,32,64,128,256,512,1024";
  std::string bandwidths = "10,100";
  double latency = 20;  // us
  double speedup = 12;
  double seconds = 2;
  std::string times;
};

/// The numbers in a comma-separated list. **Errors**: any other text, or a number out of range.
template <class T>
std::vector<T> list_of(const char* option, const std::string& whole, T low, T high) {
  std::vector<T> numbers;
  std::string_view text = whole;
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    T number{};
    require(parse_number(text.substr(0, comma), number) && number >= low && number <= high,
            kProgram, option, " must be numbers from ", low, " to ", high,
            " separated by commas, got '", whole, "'");
    numbers.push_back(number);
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  return numbers;
}

models::Encoder make_encoder(const Options& o) {
  require(o.width % o.heads == 0, kProgram, "--heads must divide --width ", o.width, ", got ",
          o.heads);
  Rng rng(1);
  models::Encoder encoder({.layers = models::repeat_layer({.d_model = o.width,
                                                           .nhead = o.heads,
                                                           .dim_feedforward = o.feed_forward,
                                                           .dropout = 0,
                                                           .activation = nn::Activation::kGelu},
                                                          o.layers)},
                          rng);
  nn::set_requires_grad(encoder);
  return encoder;
}

/// Seconds since the last call.
class Stopwatch {
 public:
  double lap() {
    const Clock::time_point before = std::exchange(begin_, Clock::now());
    return std::chrono::duration<double>(begin_ - before).count();
  }

 private:
  using Clock = std::chrono::steady_clock;
  Clock::time_point begin_ = Clock::now();
};

/// Seconds to add an element, as an owner adds the gradients of others to its own: chunk by chunk,
/// over more memory than the caches hold.
double addition_time() {
  constexpr index_t kChunks = 96;
  std::vector<Tensor> totals, parts;
  for (index_t i = 0; i < kChunks; ++i) {
    totals.push_back(ones({nn::kChunkElements}));
    parts.push_back(ones({nn::kChunkElements}));
  }
  double best = 1e9;
  for (int round = 0; round < 5; ++round) {
    Stopwatch watch;
    for (std::size_t i = 0; i < totals.size(); ++i) add_in_place(totals[i], parts[i]);
    best = std::min(best, watch.lap());
  }
  return best / static_cast<double>(kChunks * nn::kChunkElements);
}

/// The shortest times of the parts of a step on one thread, in at least three steps.
bench::Work measured(const Options& o, models::Encoder& encoder) {
  set_thread_count(1);
  Rng rng(2);
  const Shape shape = {o.batch_size, o.tokens, o.width};
  const Tensor x = randn(shape, kFloat32, rng), target = randn(shape, kFloat32, rng);
  nn::AdamW optimizer(nn::split_weight_decay(encoder), {.lr = 1e-4});
  bench::Work best = {1e9, 1e9, 1e9, addition_time()};
  double spent = 0;
  for (int step = -1; step < 3 || spent < o.seconds; ++step) {
    Stopwatch watch;
    Tape tape;
    const nn::LossSum sum = nn::summed_squared_error(encoder(x), target);
    const double forward = watch.lap();
    tape.backward(sum.loss);
    const double backward = watch.lap();
    nn::clip_grad_norm(optimizer.variables(), 1, {.scale = 1 / sum.count});
    optimizer.step();
    const double update = watch.lap();
    optimizer.zero_grad();
    if (step < 0) continue;  // the first one allocates memory
    best.forward = std::min(best.forward, forward);
    best.backward = std::min(best.backward, backward);
    best.update = std::min(best.update, update);
    spent += forward + backward + update;
  }
  return best;
}

/// One thread's times, as printed by an earlier run.
bench::Work known_times(const std::string& text) {
  const std::vector<double> times = list_of<double>("--times", text, 0, 1e9);
  require(times.size() == 4, kProgram, "--times must be 4 numbers, got '", text, "'");
  return {times[0] * 1e-3, times[1] * 1e-3, times[2] * 1e-3, times[3] * 1e-12};
}

/// The number of elements of each parameter, in the order of the exchange.
std::vector<index_t> counts_of(const models::Encoder& encoder) {
  std::vector<index_t> counts;
  for (const nn::ParameterGroup& group : nn::split_weight_decay(encoder)) {
    for (const auto& parameter : group.parameters) counts.push_back(parameter.tensor.count());
  }
  return counts;
}

void print_table(const Options& o, const std::vector<index_t>& counts, const bench::Work& work) {
  const std::vector<double> bandwidths = list_of<double>("--bandwidth", o.bandwidths, 1e-3, 1e6);
  const double alone = bench::step_time(bench::traffic_of(counts, 1), work, {}, o.layers).total();
  std::cout << "| hosts | work |";
  for (const double gbit : bandwidths) {
    std::cout << ' ' << decimals(gbit, gbit < 10 ? 1 : 0)
              << " Gbit/s: exchange | step | efficiency |";
  }
  std::cout << "\n|---|---|";
  for (std::size_t i = 0; i < bandwidths.size(); ++i) std::cout << "---|---|---|";
  std::cout << '\n';
  for (const index_t hosts : list_of<index_t>("--hosts", o.hosts, 1, 65536)) {
    const bench::Traffic traffic = bench::traffic_of(counts, hosts);
    std::cout << "| " << hosts << " |";
    for (std::size_t i = 0; i < bandwidths.size(); ++i) {
      const bench::Link link = {.latency = o.latency * 1e-6, .bandwidth = bandwidths[i] * 1e9 / 8};
      const bench::StepTime step = bench::step_time(traffic, work, link, o.layers);
      if (i == 0) std::cout << ' ' << seconds_text(step.work) << " |";
      std::cout << ' ' << seconds_text(step.exchange) << " | " << seconds_text(step.total())
                << " | " << decimals(100 * alone / step.total(), 0) << " % |";
    }
    std::cout << '\n';
  }
}

void print_scaling(const Options& o) {
  models::Encoder encoder = make_encoder(o);
  const std::vector<index_t> counts = counts_of(encoder);
  const bench::Work one = o.times.empty() ? measured(o, encoder) : known_times(o.times);
  std::cout << "Encoder L" << o.layers << " D" << o.width << " H" << o.heads << " F"
            << o.feed_forward << ", "
            << decimals(static_cast<double>(nn::parameter_count(encoder)) / 1e6, 1)
            << " million parameters; each host computes " << o.batch_size << " sequences of "
            << o.tokens << " tokens per step.\nOne thread: forward " << seconds_text(one.forward)
            << ", backward " << seconds_text(one.backward) << ", norm and optimiser "
            << seconds_text(one.update) << ", adding 10^6 elements "
            << seconds_text(one.addition * 1e6) << ". A host is " << decimals(o.speedup, 1)
            << " times as fast.\n\n";
  print_table(o, counts,
              {one.forward / o.speedup, one.backward / o.speedup, one.update / o.speedup,
               one.addition / o.speedup});
}

}  // namespace

int main(int argc, char** argv) {
  examples::Command command(
      kProgram,
      "Estimates the time of a data-parallel training step on many hosts: measures the parts of a "
      "step on one thread here, counts the messages, and prints a table. bench/scaling.md has the "
      "formula.");
  Options o;
  command.add("--layers", o.layers, "encoder layers", {1, 1000});
  command.add("--width", o.width, "width of the encoder", {1, 65536});
  command.add("--heads", o.heads, "attention heads", {1, 1024});
  command.add("--feed-forward", o.feed_forward, "hidden width of the feed-forward networks",
              {1, 262144});
  command.add("--batch-size", o.batch_size, "sequences per host and step", {1, 65536});
  command.add("--tokens", o.tokens, "tokens per sequence", {1, 65536});
  command.add("--hosts", o.hosts, "numbers of hosts, separated by commas");
  command.add("--bandwidth", o.bandwidths,
              "bandwidth of a host's link, in Gbit/s; several separated by commas");
  command.add("--latency", o.latency, "latency of a short message, in microseconds", {0, 1e6});
  command.add("--speedup", o.speedup, "speedup of all cores of a host over one thread", {1, 1024});
  command.add("--times", o.times,
              "times of one thread instead of measurements, separated by commas: milliseconds of "
              "forward, backward and optimiser, microseconds of 10^6 additions");
  command.add("--seconds", o.seconds, "seconds of measurement", {0, 600});
  return command.run(argc, argv, [&] { print_scaling(o); });
}
