// A page about a run that is written again and again while the run goes on. Private.
#pragma once

#include <chrono>
#include <filesystem>
#include <optional>
#include <string>
#include <utility>

#include "models/pages/training_page.h"

namespace tessera::runs {

/// Nothing if the file's name is empty. The file is replaced as a whole, so a browser may load it at
/// any time.
class ReportFile {
 public:
  /// `facts` is the page without state and log.
  ReportFile(std::filesystem::path file, pages::TrainingReport facts)
      : file_(std::move(file)), page_(std::move(facts)) {}

  bool is_wanted() const { return !file_.empty(); }
  /// The log in the file as it was left by an earlier call of the same run; else nothing.
  std::optional<std::string> earlier_log() const;

  void add(pages::ClassCounts classes) { page_.classes.push_back(std::move(classes)); }
  /// The text that was written last.
  const std::string& state() const { return page_.state; }
  /// Writes the page. **Errors**: as write_page.
  void write(const std::string& state, const std::string& log, bool is_running);
  /// The same for a run that has not ended, unless it was done less than `seconds` ago. Less than a
  /// hundredth of the time is spent on it.
  void write_after(double seconds, const std::string& state, const std::string& log);

 private:
  using Clock = std::chrono::steady_clock;

  std::filesystem::path file_;
  pages::TrainingReport page_;
  Clock::time_point written_ = {};
  double cost_ = 0;  // seconds of the last writing
};

}  // namespace tessera::runs
