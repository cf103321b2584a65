// Compares training runs from their logs.
//
//   for seed in 0 1 2; do
//     for lr in 1e-3 3e-3; do
//       train_classifier --train train.tsv --lr $lr --seed $seed --save runs/lr=$lr,seed=$seed
//     done
//   done
//   compare_runs runs/* --report runs.html
//
// A run is a folder with log.csv, or a log: a CSV file with the columns step and loss;
// models/pages/run_log.h lists the others.
#include <filesystem>
#include <iostream>
#include <string>
#include <vector>

#include <tessera/models/pages/comparison_page.h>
#include <tessera/models/runs/run.h>
#include "examples/programs/cli.h"

namespace {

using namespace tessera;
namespace fs = std::filesystem;

/// The run in a folder or log. The run's page is linked from `report`, if there is one.
pages::NamedRun read_run(std::string name, const std::string& report) {
  while (name.size() > 1 && name.ends_with('/')) name.pop_back();
  const bool is_folder = fs::is_directory(name);
  const std::string log = is_folder ? (fs::path(name) / runs::kLogFile).string() : name;
  pages::NamedRun run = pages::named_run(name, pages::read_run_log(examples::input_text(log), log));
  const fs::path page = fs::path(name) / runs::kReportFile;
  if (!report.empty() && is_folder && fs::exists(page)) {
    run.page = fs::proximate(page, fs::absolute(report).parent_path()).string();
  }
  return run;
}

void compare(const std::vector<std::string>& names, const std::string& report) {
  std::vector<pages::NamedRun> runs;
  for (const std::string& name : names) runs.push_back(read_run(name, report));
  if (!report.empty()) pages::write_page(report, pages::comparison_page(runs));
  std::cout << pages::table_text(pages::comparison_rows(runs));
  const pages::Rows settings = pages::setting_rows(runs);
  if (!settings.empty()) std::cout << '\n' << pages::table_text(settings);
}

}  // namespace

int main(int argc, char** argv) {
  std::vector<std::string> names;
  std::string report;
  examples::Command command("compare_runs", "Compares training runs from their logs.");
  command.add_arguments("RUN", names, "folders of runs (--save), or their logs (--log)",
                        examples::kRequired);
  command.add_output("--report", report, "output file for the runs' curves, HTML");
  return command.run(argc, argv, [&] { compare(names, report); });
}
