#include "tessera/models/pages/training_page.h"

#include <algorithm>
#include <utility>

#include "tessera/models/pages/detail/facts.h"
#include "tessera/models/pages/detail/numbers.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/json.h"

namespace tessera::pages {

namespace {

std::string cell(const std::optional<double>& value) {
  return value ? number_text(*value) : "";
}

std::string summary_html(const TrainingReport& report, const RunSummary& summary) {
  Facts facts = {{"state", report.state},
                 {"steps", str_cat(summary.steps)},
                 {"loss, last", at_step_text(summary.last_loss)},
                 {"loss, smallest", at_step_text(summary.best_loss)}};
  if (summary.last_held_out) {
    facts.emplace_back("loss of held-out examples, last", at_step_text(summary.last_held_out));
    facts.emplace_back("loss of held-out examples, smallest", at_step_text(summary.best_held_out));
  }
  if (summary.last_accuracy) {
    facts.emplace_back("accuracy, last", at_step_text(summary.last_accuracy));
    facts.emplace_back("accuracy, largest", at_step_text(summary.best_accuracy));
  }
  if (summary.tokens_per_second) {
    facts.emplace_back("tokens per second", decimals(*summary.tokens_per_second, 0));
  }
  if (summary.seconds) facts.emplace_back("time", duration_text(*summary.seconds));
  return facts_html("Summary", facts);
}

/// The last step of each epoch, where the evaluations are too; at most so many, evenly chosen.
std::string epochs_html(const std::vector<LoggedStep>& steps) {
  constexpr std::size_t kMost = 200;
  std::vector<const LoggedStep*> ends;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const bool ends_epoch = i + 1 == steps.size() || steps[i + 1].epoch != steps[i].epoch;
    if (ends_epoch || steps[i].held_out_loss) ends.push_back(&steps[i]);
  }
  const std::vector<double> times = elapsed(steps);
  std::vector<std::vector<std::string>> rows = {{"step", "epoch", "loss", "accuracy",
                                                 "learning rate", "gradient norm", "held-out loss",
                                                 "held-out accuracy", "time"}};
  const std::size_t shown = std::min(ends.size(), kMost);
  for (std::size_t i = 0; i < shown; ++i) {
    const LoggedStep& step = *ends[shown == 1 ? 0 : i * (ends.size() - 1) / (shown - 1)];
    const auto place = static_cast<std::size_t>(&step - steps.data());
    rows.push_back({str_cat(step.step), str_cat(step.epoch), number_text(step.loss),
                    cell(step.accuracy), cell(step.learning_rate), cell(step.gradient_norm),
                    cell(step.held_out_loss), cell(step.held_out_accuracy),
                    step.seconds ? duration_text(times[place]) : ""});
  }
  const char* const caption = ends.size() > shown ? "The last steps of some epochs, evenly chosen"
                                                  : "The last step of each epoch";
  return table_html(caption, rows);
}

/// The most frequent mistakes of a table that is too large to be read.
std::string mistakes_html(const ConfusionMatrix& classes) {
  constexpr std::size_t kMost = 30;
  struct Mistake {
    index_t count;
    std::size_t label, answer;
  };
  std::vector<Mistake> mistakes;
  for (std::size_t i = 0; i < classes.counts.size(); ++i) {
    for (std::size_t j = 0; j < classes.counts[i].size(); ++j) {
      if (i != j && classes.counts[i][j] > 0) mistakes.push_back({classes.counts[i][j], i, j});
    }
  }
  std::stable_sort(mistakes.begin(), mistakes.end(),
                   [](const Mistake& a, const Mistake& b) { return a.count > b.count; });
  std::vector<std::vector<std::string>> rows = {{"label", "answer", "times"}};
  for (std::size_t i = 0; i < std::min(mistakes.size(), kMost); ++i) {
    const auto& [count, label, answer] = mistakes[i];
    rows.push_back({classes.labels[label], classes.labels[answer], str_cat(count)});
  }
  return table_html(classes.title + ": the most frequent mistakes", rows);
}

void check_classes(const ConfusionMatrix& classes) {
  const std::size_t size = classes.labels.size();
  require(classes.counts.size() == size, "training_page", "counts of '", classes.title,
          "' must have one row per label, ", size, ", got ", classes.counts.size());
  for (const std::vector<index_t>& row : classes.counts) {
    require(row.size() == size, "training_page", "a row of counts of '", classes.title,
            "' must have one number per label, ", size, ", got ", row.size());
  }
}

/// Labels in rows and answers in columns, darker where more of a row are.
std::string classes_html(const ConfusionMatrix& classes) {
  constexpr std::size_t kMostShown = 60;
  if (classes.labels.size() > kMostShown) return mistakes_html(classes);
  const std::string title = escape(classes.title);
  constexpr std::size_t kMany = 12, kLong = 3;
  const bool is_many = classes.labels.size() > kMany;
  const bool is_long = std::ranges::any_of(
      classes.labels, [](const std::string& label) { return label.size() > kLong; });
  std::string html = "<div class=\"scroll\" tabindex=\"0\" role=\"group\" aria-label=\"" + title +
                     "\"><table class=\"classes" + (is_many ? " many" : "") +
                     (is_many && is_long ? " turned" : "") + "\"><caption><span>" + title +
                     " (rows: the label, columns: the answer)</span></caption>\n<tr><td></td>";
  std::vector<std::string> columns = classes.labels;
  columns.emplace_back("recall");
  for (const std::string& column : columns) {
    html += "<th scope=\"col\"><span>" + escape(column) + "</span></th>";
  }
  html += "</tr>\n";
  for (std::size_t i = 0; i < classes.counts.size(); ++i) {
    const std::vector<index_t>& row = classes.counts[i];
    double all = 0;
    for (const index_t count : row) all += static_cast<double>(count);
    const auto share = [&](index_t count) {
      return all > 0 ? static_cast<double>(count) / all : 0.0;
    };
    html += "<tr><th scope=\"row\"><span>" + escape(classes.labels[i]) + "</span></th>";
    for (std::size_t j = 0; j < row.size(); ++j) {
      html += row[j] == 0 ? "<td class=\"none\">0</td>"
                          : str_cat("<td class=\"", i == j ? "right" : "wrong",
                                    "\" style=\"--share:", decimals(share(row[j]), 3), "\">",
                                    row[j], "</td>");
    }
    html += "<td>" + (all > 0 ? decimals(100 * share(row[i]), 1) + " %" : "-") + "</td></tr>\n";
  }
  return html + "</table></div>\n";
}

std::string options_html(const TrainingReport& report) {
  if (report.options.empty() && report.defaults.empty()) return "";
  std::string html = report.options.empty()
                         ? "<p>All options have their defaults.</p>"
                         : facts_html("Options that differ from the defaults", report.options);
  if (!report.defaults.empty()) {
    html += str_cat("<details><summary>", report.defaults.size(),
                    " options with their defaults</summary>",
                    facts_html("Defaults", report.defaults), "</details>\n");
  }
  return "<div>" + html + "</div>";
}

/// The log up to its last line end: a last line without one is not read by read_run_log either. A
/// header is whole without a line end.
std::string_view whole_lines(std::string_view log) {
  const std::size_t end = log.rfind('\n');
  return end == std::string_view::npos ? log : log.substr(0, end + 1);
}

}  // namespace

Page training_page(const TrainingReport& report) {
  const std::vector<LoggedStep> steps = read_run_log(report.log, "the log");
  for (const ConfusionMatrix& classes : report.classes) check_classes(classes);
  std::string body = "<main>\n<h1>" + escape(report.title) + "</h1>\n";
  body +=
      "<p class=\"screen-only\" id=\"follow\" hidden><label><input type=\"checkbox\"> load this "
      "page again every 5 seconds</label></p>\n";
  body += summary_html(report, summary_of(steps));
  if (steps.empty()) body += "<p>No step is done yet.</p>\n";
  body += std::string(kCharts);
  if (!report.classes.empty()) body += "<h2>Classes</h2>\n";
  for (const ConfusionMatrix& classes : report.classes) body += classes_html(classes);
  if (!steps.empty()) body += "<h2>Epochs</h2>\n" + epochs_html(steps);
  body += "<h2>Configuration</h2>\n<div class=\"columns\">\n" + options_html(report) +
          facts_html("Machine", report.machine) + "</div>\n</main>";
  Page page = page_of_charts(
      report.title + ": " + report.state, std::move(body),
      JsonObject({{"running", report.is_running}, {"log", valid_utf8(whole_lines(report.log))}})
          .text());
  page.scripts.emplace_back(asset("training.js"));
  return page;
}

}  // namespace tessera::pages
