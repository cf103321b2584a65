#include "models/runs/sweep_table.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "models/pages/detail/numbers.h"
#include "models/pages/ranks.h"
#include "models/pages/run_log.h"
#include "models/runs/run.h"
#include "models/text/text_file.h"
#include "tensor/detail/parse_number.h"
#include "tensor/error.h"
#include "tensor/io/safetensors.h"

namespace tessera::runs {

namespace {

using pages::number_text;
using Measure = std::pair<const char*, std::optional<double> pages::LoggedStep::*>;

constexpr Measure kHeldOut[] = {{"held_out_accuracy", &pages::LoggedStep::held_out_accuracy},
                                {"held_out_loss", &pages::LoggedStep::held_out_loss}};

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

struct Setting {
  std::vector<const SweepResult*> runs = {};

  double mean() const {
    std::vector<double> values;
    for (const SweepResult* run : runs) values.push_back(run->value);
    return mean_of(values);
  }
  /// Of a sample; none of a single run.
  std::string deviation() const {
    if (runs.size() < 2) return "";
    const double middle = mean();
    double sum = 0;
    for (const SweepResult* run : runs) sum += std::pow(run->value - middle, 2);
    return number_text(std::sqrt(sum / static_cast<double>(runs.size() - 1)));
  }
  /// This less the other, for each seed that both have.
  std::vector<double> differences(const Setting& other) const {
    std::vector<double> found;
    for (const SweepResult* run : runs) {
      const auto pair = std::ranges::find(other.runs, run->run.seed,
                                          [](const SweepResult* each) { return each->run.seed; });
      if (pair != other.runs.end()) found.push_back(run->value - (*pair)->value);
    }
    return found;
  }
};

std::vector<Setting> settings_of(std::span<const SweepResult> results) {
  std::vector<Setting> settings;
  for (const SweepResult& each : results) {
    if (settings.empty() || settings.back().runs.front()->run.setting != each.run.setting) {
      settings.emplace_back();
    }
    settings.back().runs.push_back(&each);
  }
  return settings;
}

/// Whether differences have ranks: a run that diverged can have the value NaN.
bool has_ranks(const std::vector<double>& differences) {
  return !differences.empty() &&
         std::ranges::none_of(differences, [](double d) { return std::isnan(d); });
}

/// How probable such differences are if both settings are equally good.
double two_sided(const std::vector<double>& differences) {
  std::vector<double> opposite;
  for (const double d : differences) opposite.push_back(-d);
  return std::min(1.0, 2 * std::min(pages::wilcoxon_signed_rank(differences),
                                    pages::wilcoxon_signed_rank(opposite)));
}

/// The names of the axes, or their values.
std::vector<std::string> axes_of(const SweepRun& run, bool names) {
  std::vector<std::string> row;
  for (const auto& [name, value] : run.values) row.push_back(names ? name : value);
  return row;
}

void append(std::vector<std::string>& row, const std::vector<std::string>& more) {
  row.insert(row.end(), more.begin(), more.end());
}

}  // namespace

SweepResult result_of(const SweepRun& run) {
  const std::string log = (run.folder / kLogFile).string();
  const std::vector<pages::LoggedStep> steps = pages::read_run_log(text::read_text(log), log);
  if (steps.empty()) fail_file(log, "must have at least 1 step, got none");
  SweepResult result = {.run = run, .steps = steps.back().step};
  const pages::LoggedStep* kept = &steps.back();
  const auto metadata = SafetensorsFile(run.folder / kCheckpointFile).metadata();
  const auto best = metadata.find("best.step");
  if (index_t step = 0; best != metadata.end() && parse_number(best->second, step)) {
    const auto found = std::ranges::find(steps, step, &pages::LoggedStep::step);
    if (found == steps.end()) fail_file(log, "must have step ", step, ", the best one");
    result.best_step = step;
    kept = &*found;
  }
  result.measure = kept->accuracy ? "accuracy" : "loss";
  result.value = kept->accuracy.value_or(kept->loss);
  for (const auto& [name, member] : kHeldOut) {
    if (!(kept->*member)) continue;
    result.measure = name;
    result.value = *(kept->*member);
    break;
  }
  return result;
}

pages::Rows result_rows(std::span<const SweepResult> results) {
  pages::Rows rows;
  for (const SweepResult& each : results) {
    if (rows.empty()) {
      rows.push_back(axes_of(each.run, true));
      append(rows.back(), {"seed", "steps", "best_step", each.measure});
    }
    rows.push_back(axes_of(each.run, false));
    append(rows.back(), {str_cat(each.run.seed), str_cat(each.steps),
                         each.best_step ? str_cat(*each.best_step) : "", number_text(each.value)});
  }
  return rows;
}

pages::Rows setting_rows(std::span<const SweepResult> results) {
  const std::vector<Setting> settings = settings_of(results);
  if (settings.empty()) return {};
  std::vector<std::vector<double>> differences;
  std::vector<double> chances;
  for (const Setting& setting : std::span(settings).subspan(1)) {
    differences.push_back(setting.differences(settings.front()));
    chances.push_back(has_ranks(differences.back()) ? two_sided(differences.back()) : 1);
  }
  const std::vector<double> corrected = pages::holm(chances);
  pages::Rows rows = {axes_of(results.front().run, true)};
  append(rows.back(), {"runs", "mean_" + results.front().measure, "deviation"});
  if (settings.size() > 1) append(rows.back(), {"difference", "p", "p_holm"});
  for (std::size_t i = 0; i < settings.size(); ++i) {
    const Setting& setting = settings[i];
    rows.push_back(axes_of(setting.runs.front()->run, false));
    append(rows.back(),
           {str_cat(setting.runs.size()), number_text(setting.mean()), setting.deviation()});
    if (settings.size() == 1) continue;
    if (i == 0 || !has_ranks(differences[i - 1])) {
      append(rows.back(), {"", "", ""});
      continue;
    }
    append(rows.back(), {number_text(mean_of(differences[i - 1])), number_text(chances[i - 1]),
                         number_text(corrected[i - 1])});
  }
  return rows;
}

}  // namespace tessera::runs
