#include "tessera/models/pages/comparison_page.h"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <filesystem>
#include <optional>
#include <sstream>
#include <utility>

#include "tessera/models/pages/detail/facts.h"
#include "tessera/models/pages/detail/numbers.h"
#include "tessera/models/pages/ranks.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/format.h"
#include "tessera/tensor/io/json.h"

namespace tessera::pages {

namespace {

/// The columns by which runs are compared.
constexpr std::pair<const char*, std::optional<double> LoggedStep::*> kMeasures[] = {
    {"held_out_accuracy", &LoggedStep::held_out_accuracy},
    {"held_out_loss", &LoggedStep::held_out_loss},
    {"accuracy", &LoggedStep::accuracy}};

/// The step with the smallest held-out loss or, without evaluations, the last step.
const LoggedStep& best_step(std::span<const LoggedStep> steps) {
  const LoggedStep* best = nullptr;
  for (const LoggedStep& step : steps) {
    if (!step.held_out_loss) continue;
    const bool is_better = best == nullptr || std::isnan(*best->held_out_loss) ||
                           *step.held_out_loss < *best->held_out_loss;
    if (is_better) best = &step;
  }
  return best != nullptr ? *best : steps.back();
}

struct Run {
  std::string setting, seed;
  double value;
};

struct Rated {
  std::string measure = "loss";
  std::vector<Run> runs = {};
};

/// The values of all runs that have a setting and a step.
Rated rated(std::span<const NamedRun> runs) {
  Rated result;
  std::vector<const LoggedStep*> steps;
  for (const NamedRun& run : runs) {
    if (run.setting.empty() || run.steps.empty()) continue;
    steps.push_back(&best_step(run.steps));
    result.runs.push_back({run.setting, run.seed, steps.back()->loss});
  }
  for (const auto& [name, column] : kMeasures) {
    const auto has = [column = column](const LoggedStep* step) {
      return (step->*column).has_value();
    };
    if (!std::ranges::all_of(steps, has)) continue;
    result.measure = name;
    for (std::size_t i = 0; i < steps.size(); ++i) result.runs[i].value = *(steps[i]->*column);
    break;
  }
  return result;
}

/// The runs by setting, in the order of each setting's first run.
std::vector<std::vector<Run>> by_setting(const std::vector<Run>& runs) {
  std::vector<std::vector<Run>> settings;
  for (const Run& run : runs) {
    const auto found = std::ranges::find_if(
        settings, [&](const auto& each) { return each.front().setting == run.setting; });
    if (found == settings.end()) {
      settings.push_back({run});
    } else {
      found->push_back(run);
    }
  }
  return settings;
}

double mean_of(std::span<const double> values) {
  double sum = 0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

/// The standard deviation of a sample; empty for a single value.
std::string deviation_text(std::span<const double> values) {
  if (values.size() < 2) return "";
  const double mean = mean_of(values);
  double sum = 0;
  for (const double value : values) sum += (value - mean) * (value - mean);
  return number_text(std::sqrt(sum / static_cast<double>(values.size() - 1)));
}

/// `setting` minus `base`, for each seed that both have.
std::vector<double> differences(const std::vector<Run>& setting, const std::vector<Run>& base) {
  std::vector<double> found;
  for (const Run& run : setting) {
    const auto pair = std::ranges::find(base, run.seed, &Run::seed);
    if (pair != base.end()) found.push_back(run.value - pair->value);
  }
  return found;
}

/// Whether differences have ranks: a run that diverged can have the value NaN.
bool has_ranks(const std::vector<double>& differences) {
  return !differences.empty() &&
         std::ranges::none_of(differences, [](double d) { return std::isnan(d); });
}

/// The probability of such differences if both settings are equally good.
double two_sided(const std::vector<double>& differences) {
  std::vector<double> opposite;
  for (const double d : differences) opposite.push_back(-d);
  return std::min(1.0, 2 * std::min(wilcoxon_signed_rank_greater(differences),
                                    wilcoxon_signed_rank_greater(opposite)));
}

/// The runs for assets/run_charts.js.
std::string data_of(std::span<const NamedRun> runs) {
  const auto data = [](const NamedRun& run) {
    std::string log = std::string(kRunLogHeader) + '\n';
    for (const LoggedStep& step : run.steps) log += run_log_line(step);
    return JsonObject({{"name", valid_utf8(run.name)},
                       {"setting", valid_utf8(run.setting)},
                       {"seed", valid_utf8(run.seed)},
                       {"log", log}});
  };
  return JsonObject({{"runs", json_list(runs, data, kJsonLines)}}).text();
}

}  // namespace

NamedRun named_run(const std::string& name, std::vector<LoggedStep> steps) {
  NamedRun run = {.name = name, .steps = std::move(steps)};
  const std::filesystem::path path(name);
  std::string others;
  std::istringstream parts(path.filename().string());
  for (std::string part; std::getline(parts, part, ',');) {
    if (part.starts_with("seed=")) {
      run.seed = part;
    } else {
      others += (others.empty() ? "" : ",") + part;
    }
  }
  if (run.seed.empty()) return run;
  const std::filesystem::path folder = path.parent_path();
  run.setting = (others.empty() ? folder : folder / others).string();
  if (run.setting.empty()) run.setting = "all runs";
  return run;
}

std::string table_text(Rows rows) {
  for (auto& row : rows) std::ranges::replace(row, std::string(), std::string("-"));
  return in_columns(rows, 1);
}

Rows comparison_rows(std::span<const NamedRun> runs) {
  Rows rows = {{"run", "steps", "last loss", "smallest loss", "last held-out loss",
                "smallest held-out loss", "largest accuracy", "tokens/s", "time"}};
  for (const NamedRun& run : runs) {
    const RunSummary summary = summary_of(run.steps);
    const std::string speed =
        summary.tokens_per_second ? decimals(*summary.tokens_per_second, 0) : "-";
    const std::string last = summary.last_loss ? number_text(summary.last_loss->value) : "-";
    const std::string held_out =
        summary.last_held_out ? number_text(summary.last_held_out->value) : "-";
    rows.push_back({run.name, str_cat(summary.steps), last, at_step_text(summary.best_loss),
                    held_out, at_step_text(summary.best_held_out),
                    at_step_text(summary.best_accuracy), speed,
                    summary.seconds ? duration_text(*summary.seconds) : "-"});
  }
  return rows;
}

Rows setting_rows(std::span<const NamedRun> runs) {
  const Rated all = rated(runs);
  const std::vector<std::vector<Run>> settings = by_setting(all.runs);
  if (settings.empty()) return {};
  std::vector<std::vector<double>> found;
  std::vector<double> chances;
  for (const std::vector<Run>& setting : std::span(settings).subspan(1)) {
    found.push_back(differences(setting, settings.front()));
    chances.push_back(has_ranks(found.back()) ? two_sided(found.back()) : 1);
  }
  const std::vector<double> corrected = holm(chances);
  Rows rows = {{"setting", "runs", "mean_" + all.measure, "std"}};
  if (settings.size() > 1) rows[0].insert(rows[0].end(), {"difference", "p", "p_holm"});
  for (std::size_t i = 0; i < settings.size(); ++i) {
    std::vector<double> values;
    for (const Run& run : settings[i]) values.push_back(run.value);
    std::vector<std::string> row = {settings[i].front().setting, str_cat(values.size()),
                                    number_text(mean_of(values)), deviation_text(values)};
    if (i > 0 && has_ranks(found[i - 1])) {
      row.insert(row.end(), {number_text(mean_of(found[i - 1])), number_text(chances[i - 1]),
                             number_text(corrected[i - 1])});
    }
    row.resize(rows[0].size());
    rows.push_back(std::move(row));
  }
  return rows;
}

Page comparison_page(std::span<const NamedRun> runs) {
  std::vector<std::string> pages;
  for (const NamedRun& run : runs) pages.push_back(run.page);
  const Rows settings = setting_rows(runs);
  std::string body = "<main>\n<h1>" + str_cat(runs.size(), runs.size() == 1 ? " run" : " runs") +
                     "</h1>\n" + (settings.empty() ? "" : table_html("Settings", settings)) +
                     table_html("What the logs say", comparison_rows(runs), pages) +
                     "<p class=\"muted\">Accuracy is that of held-out examples where a log has one."
                     "</p>\n" +
                     std::string(kCharts) + "</main>";
  return page_of_charts(str_cat(runs.size(), " training runs"), std::move(body), data_of(runs));
}

}  // namespace tessera::pages
