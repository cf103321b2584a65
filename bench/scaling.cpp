// tessera_scaling: how long a step of training would take on many hosts.
//
//   tessera_scaling
//   tessera_scaling --layers 12 --width 768 --feedforward 3072 --hosts 2,16,128 --bandwidth 25
//   mpirun -n 2 tessera_scaling --check --bandwidth 1,10
#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/results/units.h"
#include "bench/scaling/check.h"
#include "bench/scaling/compute.h"
#include "bench/scaling/link_probe.h"
#include "bench/scaling/table.h"
#include "examples/programs/command.h"
#include "examples/programs/processes.h"
#include "models/pages/numbers.h"
#include "nn/training/chunks.h"
#include "tensor/error.h"
#include "tensor/kernels/parallel.h"
#include "tensor/parse_number.h"

namespace {

using namespace tessera;

struct Options {
  bench::Task task;
  index_t shards = 0;
  std::string hosts = "2,4,8,16,32,64,128,256,512,1024";
  std::string bandwidths = "10,100";
  index_t chunk = nn::kChunkElements;
  index_t cores = 16;
  double speedup = 0;
  double spread = 0;
  double latency = 20, overhead = 4, copy = 0.3;  // us, us, ns
  double seconds = 2;
  std::string times;
  bool csv = false;
  bool check = false;
};

/// The numbers of a list with commas. **Errors**: anything else, or a number out of range.
template <class T>
std::vector<T> list_of(const char* option, std::string_view text, T low, T high) {
  std::vector<T> numbers;
  const std::string whole(text);
  for (bool more = true; more;) {
    const std::size_t comma = text.find(',');
    const std::string_view part = text.substr(0, comma);
    T number{};
    require(parse_number(part, number) && number >= low && number <= high, "tessera_scaling",
            option, " must be numbers from ", low, " to ", high, " separated by commas, got '",
            whole, "'");
    numbers.push_back(number);
    more = comma != std::string_view::npos;
    if (more) text.remove_prefix(comma + 1);
  }
  return numbers;
}

std::vector<double> bandwidths_of(const Options& options) {
  return list_of<double>("--bandwidth", options.bandwidths, 1e-3, 1e6);
}

/// One thread's times, as a run before this one printed them.
bench::Host known_times(const std::string& text) {
  const std::vector<double> times = list_of<double>("--times", text, 0, 1e9);
  require(times.size() == 4, "tessera_scaling", "--times must be 4 numbers, got '", text, "'");
  return {.forward = times[0] * 1e-3,
          .backward = times[1] * 1e-3,
          .update = times[2] * 1e-3,
          .addition = times[3] * 1e-12};
}

/// What was measured, beside what a host is taken for.
std::string terms_text(const bench::Host& one, const bench::Host& several, const bench::Host& host,
                       index_t threads, index_t cores) {
  std::vector<const bench::Host*> columns = {&one, &several, &host};
  if (threads == 1) columns.erase(columns.begin() + 1);
  std::string text =
      str_cat("| of a shard | 1 thread | ", threads > 1 ? str_cat(threads, " threads | ") : "",
              "a host of ", cores, " cores |\n|---|---|---|", threads > 1 ? "---|" : "", '\n');
  const auto row = [&](const char* name, double bench::Host::*part, double times) {
    text += str_cat("| ", name, " |");
    for (const bench::Host* each : columns) {
      text += ' ' + results::seconds_text(each->*part * times) + " |";
    }
    text += '\n';
  };
  row("forward", &bench::Host::forward, 1);
  row("backward", &bench::Host::backward, 1);
  row("norm and optimiser", &bench::Host::update, 1);
  row("adding 10^6 elements", &bench::Host::addition, 1e6);
  text += "| spread |";
  for (const bench::Host* each : columns) {
    text += ' ' + pages::decimals(100 * each->spread, 1) + " % |";
  }
  return text + '\n';
}

std::string title_of(const Options& options, const bench::Elements& elements) {
  const bench::Task& task = options.task;
  return str_cat("Encoder L", task.layers, " D", task.width, " H", task.heads, " F",
                 task.feedforward, task.vocabulary > 0 ? str_cat(" V", task.vocabulary) : "", ", ",
                 pages::decimals(static_cast<double>(elements.all) / 1e6, 1),
                 " million parameters. A shard is ", task.batch, " sequences of ", task.tokens,
                 " tokens; ",
                 options.shards > 0 ? str_cat("a batch has ", options.shards, " shards.")
                                    : "a batch has a shard for each host.",
                 '\n');
}

void print_scaling(const Options& options, index_t threads) {
  bench::Plan plan = {.counts = {},
                      .stages = {},
                      .host = {},
                      .link = {.latency = options.latency * 1e-6,
                               .bandwidth = 0,
                               .overhead = options.overhead * 1e-6,
                               .copy = options.copy * 1e-9},
                      .bandwidths = list_of<double>("--bandwidth", options.bandwidths, 1e-3, 1e6),
                      .hosts = list_of<index_t>("--hosts", options.hosts, 1, 65536),
                      .batch = options.task.batch,
                      .shards = options.shards};
  bench::Learner learner(options.task);
  const bench::Elements elements = bench::elements_of(learner);
  plan.counts = bench::cut(elements.counts, options.chunk);
  plan.stages = bench::stages_of(options.task.layers, static_cast<double>(elements.embedding) /
                                                          static_cast<double>(elements.all));
  const bool known = !options.times.empty();
  if (known) threads = 1;
  const bench::Host one = known ? known_times(options.times)
                                : bench::measure_compute(options.task, learner, 1, options.seconds);
  const bench::Host several =
      threads > 1 ? bench::measure_compute(options.task, learner, threads, options.seconds) : one;
  plan.host = bench::host_of(one, several, threads, options.cores, options.speedup);
  if (options.spread > 0) plan.host.spread = options.spread;
  if (options.csv) {
    std::cout << bench::csv(plan);
    return;
  }
  std::cout << title_of(options, elements) << '\n'
            << terms_text(one, several, plan.host, threads, options.cores) << '\n'
            << bench::markdown(plan);
}

/// Real steps of the processes that run, as fast as they are, then through the links of the options.
void print_check(const Options& options, index_t threads) {
  nn::Communicator& processes = examples::processes();
  bench::Link link = processes.size() > 1 ? bench::measure_link(processes) : bench::Link{};
  std::vector<bench::Link> links = {link};
  link.latency = options.latency * 1e-6;
  for (const double gbit : bandwidths_of(options)) {
    link.bandwidth = gbit * 1e9 / 8;
    if (processes.size() > 1) links.push_back(link);
  }
  const index_t shards = options.shards > 0 ? options.shards : processes.size();
  const std::vector<bench::Check> checks = bench::check_model(
      {.task = options.task, .shards = shards, .threads = threads, .seconds = options.seconds},
      processes, links);
  std::cout << processes.size() << " processes of " << threads << " threads, " << shards
            << " shards; overhead " << results::seconds_text(link.overhead) << " a message, copy "
            << pages::decimals(link.copy * 1e9, 3) << " ns a byte\n\n"
            << bench::markdown(checks);
}

void add_options(examples::Command& command, Options& o) {
  using examples::kMany;
  command.add("--layers", o.task.layers, "encoder layers", {1, 1000});
  command.add("--width", o.task.width, "width of the encoder", {1, 65536});
  command.add("--heads", o.task.heads, "attention heads", {1, 1024});
  command.add("--feedforward", o.task.feedforward, "hidden width of the feed-forward networks",
              {1, 262144});
  command.add("--vocabulary", o.task.vocabulary, "rows of the embedding; 0: no embedding",
              {0, kMany});
  command.add("--batch", o.task.batch, "sequences per shard", {1, 65536});
  command.add("--tokens", o.task.tokens, "tokens per sequence", {1, 65536});
  command.add("--shards", o.shards, "shards per batch; 0: one per host", {0, 1 << 20});
  command.add("--hosts", o.hosts, "numbers of hosts, separated by commas");
  command.add("--bandwidth", o.bandwidths,
              "bandwidth of a host's link, in Gbit/s; several separated by commas");
  command.add("--latency", o.latency, "latency of a short message, in microseconds", {0, 1e6});
  command.add("--overhead", o.overhead, "core time per message sent or received, in microseconds",
              {0, 1e6});
  command.add("--copy", o.copy, "core time per byte sent or received, in nanoseconds", {0, 1e3});
  command.add("--chunk", o.chunk,
              "elements per chunk that a process owns; the library uses the default",
              {256, nn::kChunkElements});
  command.add("--cores", o.cores, "cores per host", {1, 1024});
  command.add("--speedup", o.speedup,
              "speedup of all cores of a host over one; 0: Amdahl's law, from measured times",
              {0, 1024});
  command.add("--spread", o.spread,
              "standard deviation of the time of a shard, over its mean; 0: as measured", {0, 10});
  command.add("--times", o.times,
              "times of one thread instead of measurements, separated by commas: milliseconds of "
              "forward, backward and optimiser, microseconds of 10^6 additions");
  command.add("--seconds", o.seconds, "seconds of measurement per number of threads", {0, 600});
  command.add("--check", o.check,
              "time real steps of the processes of mpirun, next to the estimates");
  command.add("--csv", o.csv, "print CSV instead of tables");
}

}  // namespace

int main(int argc, char** argv) {
  examples::Command command(
      "tessera_scaling",
      "Estimates the time of a data-parallel training step on many hosts: measures the parts of a "
      "step here, counts the messages, and prints a table for networks of a given latency and "
      "bandwidth. bench/scaling.md derives it.");
  Options options;
  add_options(command, options);
  command.splits_work();
  return command.run(argc, argv, [&] {
    const index_t threads = command.threads() > 0 ? command.threads() : thread_count();
    require(options.check || examples::processes().size() == 1, "tessera_scaling",
            "must run in 1 process unless --check is given, got ", examples::processes().size());
    options.check ? print_check(options, threads) : print_scaling(options, threads);
  });
}
