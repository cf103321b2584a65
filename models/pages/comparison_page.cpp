#include "models/pages/comparison_page.h"

#include "models/pages/detail/facts.h"
#include "models/pages/detail/numbers.h"
#include "tensor/error.h"

namespace tessera::pages {

std::vector<std::vector<std::string>> comparison_rows(std::span<const NamedRun> runs) {
  std::vector<std::vector<std::string>> rows = {{"run", "steps", "last loss", "smallest loss",
                                                 "last held-out loss", "smallest held-out loss",
                                                 "largest accuracy", "tokens/s", "time"}};
  for (const NamedRun& run : runs) {
    const RunSummary summary = summary_of(run.steps);
    const std::string speed =
        summary.tokens_per_second ? decimals(*summary.tokens_per_second, 0) : "-";
    const std::string last = summary.last_loss ? number_text(summary.last_loss->value) : "-";
    const std::string held_out =
        summary.last_held_out ? number_text(summary.last_held_out->value) : "-";
    rows.push_back({run.name, str_cat(summary.steps), last, at_step_text(summary.best_loss),
                    held_out, at_step_text(summary.best_held_out),
                    at_step_text(summary.best_accuracy), speed, time_text(summary.seconds)});
  }
  return rows;
}

Page comparison_page(std::span<const NamedRun> runs) {
  std::string body = "<main>\n<h1>" + str_cat(runs.size(), runs.size() == 1 ? " run" : " runs") +
                     "</h1>\n" + table_html("What the logs say", comparison_rows(runs)) +
                     "<p class=\"muted\">Accuracy is that of held-out examples where a log has one."
                     "</p>\n<h2>Curves</h2>\n<div class=\"charts\">\n";
  for (const Chart& chart : run_charts(runs)) body += chart_html(chart);
  Page page;
  page.title = str_cat(runs.size(), " training runs");
  page.body = body + "</div>\n</main>";
  page.styles = {std::string(asset("chart.css")), std::string(asset("training.css"))};
  return page;
}

}  // namespace tessera::pages
