#include "bench/scaling/table.h"

#include <algorithm>

#include "bench/results/units.h"
#include "models/pages/numbers.h"
#include "tensor/error.h"

namespace tessera::bench {

namespace {

using pages::decimals;
using results::seconds_text;

constexpr double kBytesOfGbit = 1e9 / 8;

Prediction predict(const Plan& plan, index_t hosts, double gbit) {
  const index_t shards = plan.shards > 0 ? plan.shards : hosts;
  const Traffic traffic = traffic_of(plan.counts, shards, hosts);
  Link link = plan.link;
  link.bandwidth = gbit * kBytesOfGbit;
  const StepTime step = step_time(traffic, plan.host, link, plan.stages);
  const double examples_s = static_cast<double>(shards * plan.batch) / step.total();
  return {.hosts = hosts, .gbit = gbit, .step = step, .examples_s = examples_s, .efficiency = 1};
}

std::string percent(double part) {
  return decimals(100 * part, 0) + " %";
}

/// Those of one bandwidth, said in a sentence.
std::string verdict(const std::vector<Prediction>& predictions, double gbit) {
  const Prediction* fastest = nullptr;
  const Prediction* half = nullptr;
  for (const Prediction& each : predictions) {
    if (each.gbit != gbit) continue;
    if (fastest == nullptr || each.examples_s > fastest->examples_s) fastest = &each;
    if (each.efficiency >= 0.5 && (half == nullptr || each.hosts > half->hosts)) half = &each;
  }
  if (fastest == nullptr) return "";
  const std::string half_text =
      half == nullptr ? "No number of hosts does half of that for each."
                      : str_cat("Each of ", half->hosts, " hosts does at least half (",
                                percent(half->efficiency), ") of what one does alone.");
  return str_cat("\n", decimals(gbit, gbit < 10 ? 1 : 0), " Gbit/s: most examples a second on ",
                 fastest->hosts, " hosts, ", results::digits_text(fastest->examples_s, 3), ". ",
                 half_text, '\n');
}

}  // namespace

std::vector<Prediction> predictions_of(const Plan& plan) {
  std::vector<Prediction> result;
  const double alone = predict(plan, 1, 0).examples_s;
  for (const double gbit : plan.bandwidths) {
    for (const index_t hosts : plan.hosts) {
      if (plan.shards > 0 && hosts > plan.shards) continue;
      Prediction each = predict(plan, hosts, gbit);
      each.efficiency = each.examples_s / alone / static_cast<double>(hosts);
      result.push_back(each);
    }
  }
  return result;
}

std::string markdown(const Plan& plan) {
  const std::vector<Prediction> predictions = predictions_of(plan);
  std::string head = "| hosts | compute | imbalance |";
  std::string line = "|---|---|---|";
  for (const double gbit : plan.bandwidths) {
    const std::string name = decimals(gbit, gbit < 10 ? 1 : 0) + " Gbit/s";
    head += str_cat(' ', name, ": exchange | step | examples/s | efficiency |");
    line += "---|---|---|---|";
  }
  std::string text = head + '\n' + line + '\n';
  for (const index_t hosts : plan.hosts) {
    std::string row;
    for (const Prediction& each : predictions) {
      if (each.hosts != hosts) continue;
      if (row.empty()) {
        row = str_cat("| ", hosts, " | ", seconds_text(each.step.compute), " | ",
                      seconds_text(each.step.imbalance), " |");
      }
      row += str_cat(' ', seconds_text(each.step.exchange), " | ", seconds_text(each.step.total()),
                     " | ", results::digits_text(each.examples_s, 3), " | ",
                     percent(each.efficiency), " |");
    }
    text += row.empty() ? str_cat("| ", hosts, " | more hosts than shards |\n") : row + '\n';
  }
  for (const double gbit : plan.bandwidths) text += verdict(predictions, gbit);
  return text;
}

std::string csv(const Plan& plan) {
  std::string text = "hosts,gbit_s,compute_s,imbalance_s,exchange_s,step_s,examples_s,efficiency\n";
  for (const Prediction& each : predictions_of(plan)) {
    text += str_cat(each.hosts, ',', each.gbit, ',', each.step.compute, ',', each.step.imbalance,
                    ',', each.step.exchange, ',', each.step.total(), ',', each.examples_s, ',',
                    each.efficiency, '\n');
  }
  return text;
}

}  // namespace tessera::bench
