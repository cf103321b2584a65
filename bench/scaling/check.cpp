#include "bench/scaling/check.h"

#include <algorithm>
#include <cstring>

#include "bench/results/units.h"
#include "bench/scaling/compute.h"
#include "bench/scaling/delayed_communicator.h"
#include "bench/scaling/stopwatch.h"
#include "models/pages/numbers.h"
#include "nn/training/optim.h"
#include "nn/training/trainer.h"
#include "tensor/error.h"

namespace tessera::bench {

namespace {

/// What each process gives, by rank.
template <class T>
std::vector<T> numbers_of(nn::Communicator& processes, T mine) {
  std::string bytes(sizeof(T), '\0');
  std::memcpy(bytes.data(), &mine, sizeof(T));
  std::vector<T> numbers;
  for (const std::string& text : processes.all_gather(bytes)) {
    std::memcpy(&numbers.emplace_back(), text.data(), sizeof(T));
  }
  return numbers;
}

double mean_of(nn::Communicator& processes, double mine) {
  double sum = 0;
  for (const double each : numbers_of(processes, mine)) sum += each;
  return sum / static_cast<double>(processes.size());
}

index_t most_of(nn::Communicator& processes, index_t mine) {
  const std::vector<index_t> all = numbers_of(processes, mine);
  return *std::max_element(all.begin(), all.end());
}

/// A host, as each process is one while all of them compute.
Host host_here(const CheckOptions& options, nn::Communicator& processes) {
  Learner learner(options.task);
  processes.all_gather("");
  Host host = measure_compute(options.task, learner, options.threads, options.seconds, 0.5);
  for (double Host::*part :
       {&Host::forward, &Host::backward, &Host::update, &Host::addition, &Host::spread}) {
    host.*part = mean_of(processes, host.*part);
  }
  return host;
}

struct Steps {
  double median;
  index_t sent;  // by this process, in one
};

Steps real_steps(const CheckOptions& options, nn::Communicator& processes, index_t count) {
  Learner learner(options.task);
  nn::AdamW optimizer(nn::split_weight_decay(learner), {.lr = 1e-4});
  const index_t batch = options.shards * options.task.batch;
  // More than are needed: the end of an epoch has an exchange of its own.
  const index_t examples = batch * (count + 2);
  nn::Trainer trainer(learner, optimizer, examples_of(options.task, learner, examples),
                      {.steps = count + 1,
                       .batch_size = batch,
                       .shards = options.shards,
                       .clip = 1,
                       .processes = &processes});
  std::vector<double> laps;
  Stopwatch watch;
  const index_t sent_before = processes.bytes_sent();
  trainer.run({.step = [&](const nn::StepReport& report) {
    const double lap = watch.lap();
    if (report.step > 1) laps.push_back(lap);  // the first one allocates
  }});
  return {quantile(laps, 0.5), (processes.bytes_sent() - sent_before) / (count + 1)};
}

std::string rate_text(double bandwidth) {
  return bandwidth > 0 ? pages::decimals(bandwidth * 8e-9, 1) + " Gbit/s" : "as it is";
}

}  // namespace

std::vector<Check> check_model(const CheckOptions& options, nn::Communicator& processes,
                               const std::vector<Link>& links) {
  const ThreadsScope threads(options.threads);
  const Elements elements = elements_of(Learner(options.task));
  const Traffic traffic = traffic_of(elements.counts, options.shards, processes.size());
  const std::vector<Stage> stages =
      stages_of(options.task.layers,
                static_cast<double>(elements.embedding) / static_cast<double>(elements.all));
  const Host host = host_here(options, processes);
  std::vector<Check> checks;
  for (const Link& link : links) {
    const StepTime model = step_time(traffic, host, link, stages);
    const auto count = static_cast<index_t>(options.seconds / model.total());
    DelayedCommunicator delayed(processes, link);
    const Steps steps = real_steps(options, delayed, std::clamp<index_t>(count, 3, 100));
    checks.push_back({.link = link,
                      .model = model,
                      .measured = mean_of(processes, steps.median),
                      .sent = most_of(processes, steps.sent),
                      .expected = 4 * traffic.most_sent});
  }
  return checks;
}

std::string markdown(const std::vector<Check>& checks) {
  using results::bytes_text;
  using results::seconds_text;
  std::string text =
      "| link | compute | imbalance | exchange | step, model | measured | model / measured | sent "
      "| "
      "by the formula |\n|---|---|---|---|---|---|---|---|---|\n";
  for (const Check& each : checks) {
    text += str_cat("| ", rate_text(each.link.bandwidth), ", ", seconds_text(each.link.latency),
                    " | ", seconds_text(each.model.compute), " | ",
                    seconds_text(each.model.imbalance), " | ", seconds_text(each.model.exchange),
                    " | ", seconds_text(each.model.total()), " | ", seconds_text(each.measured),
                    " | ", pages::decimals(each.model.total() / each.measured, 2), " | ",
                    bytes_text(static_cast<double>(each.sent)), " | ",
                    bytes_text(static_cast<double>(each.expected)), " |\n");
  }
  return text;
}

}  // namespace tessera::bench
