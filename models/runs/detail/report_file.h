// A page about a run that is rewritten during the run. Private.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <utility>

#include "models/pages/training_page.h"

namespace tessera::runs {

/// Does nothing if the file's name is empty. The file is replaced as a whole, so a browser may load
/// it at any time.
class ReportFile {
 public:
  /// `facts` is the page without its state and log.
  ReportFile(std::filesystem::path file, pages::TrainingReport facts)
      : file_(std::move(file)), page_(std::move(facts)) {}

  bool is_wanted() const { return !file_.empty(); }

  void add(pages::ConfusionMatrix classes) { page_.classes.push_back(std::move(classes)); }
  /// The last text that was written.
  const std::string& state() const { return page_.state; }
  /// Writes the page. **Errors**: as write_page.
  void write(const std::string& state, const std::string& log, bool is_running);
  /// The same during a run, unless the last write was less than `seconds` ago. Takes less than a
  /// hundredth of the time.
  void write_after(double seconds, const std::string& state, const std::string& log);

 private:
  using Clock = std::chrono::steady_clock;

  std::filesystem::path file_;
  pages::TrainingReport page_;
  Clock::time_point written_ = {};
  double cost_ = 0;  // seconds of the last write
};

}  // namespace tessera::runs
