// Compares two or more training runs from their logs.
//
//   train_classifier --train train.tsv --lr 1e-3 --log a.csv
//   train_classifier --train train.tsv --lr 3e-3 --log b.csv
//   compare_runs a.csv b.csv --report runs.html
//
// A log is a CSV file with the columns step and loss; models/pages/run_log.h lists the others.
#include <iostream>
#include <string>
#include <vector>

#include "examples/programs/command.h"
#include "models/pages/training_page.h"

namespace {

using namespace tessera;

void run(const std::vector<std::string>& logs, const std::string& report) {
  std::vector<pages::NamedRun> runs;
  for (const std::string& log : logs) {
    runs.push_back({.name = log});
    runs.back().steps = pages::read_run_log(examples::input_text(log), log);
  }
  if (!report.empty()) pages::write_page(report, pages::comparison_page(runs));
  std::cout << pages::table_text(pages::comparison_rows(runs));
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> logs;
  std::string report;
  examples::Command command("compare_runs", "Compares training runs from their logs.");
  command.add_arguments("LOG", logs, "logs that training programs wrote with --log").required();
  command.add_output("--report", report, "output file for the runs' curves, HTML");
  return command.run(argc, argv, [&] { run(logs, report); });
}
