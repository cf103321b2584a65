// The report of a training run, finished or not.
#pragma once

#include <string>
#include <utility>
#include <vector>

#include "tessera/models/pages/page.h"
#include "tessera/tensor/kernels/types.h"

namespace tessera::pages {

/// How often each class was the answer for each label.
struct ConfusionMatrix {
  std::string title;
  std::vector<std::string> labels;
  std::vector<std::vector<index_t>> counts;  // [label][answer], as many rows and columns as labels
};

/// Names and values, as the page shows them.
using Facts = std::vector<std::pair<std::string, std::string>>;

/// The contents of a training report.
struct TrainingReport {
  std::string title = "training";  // the program
  std::string state = {};          // "finished", "epoch 2 of 8"
  bool is_running = false;         // the page offers to load itself again
  std::string log = {};            // CSV, the format of run_log.h; the page shows these numbers
  Facts options = {};              // the options whose values are not the defaults
  Facts defaults = {};             // the other options
  Facts machine = {};
  std::vector<ConfusionMatrix> classes = {};
};

/// State, best values, curves, epochs, classes and options as a page. The page also holds the text
/// of the log.
/// **Errors**: as read_run_log, with "the log" as the name of the file; a ConfusionMatrix whose
/// counts are not one row and one column per label.
Page training_page(const TrainingReport& report);

}  // namespace tessera::pages
