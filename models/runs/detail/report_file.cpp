#include "models/runs/detail/report_file.h"

#include <algorithm>

namespace tessera::runs {

void ReportFile::write(const std::string& state, const std::string& log, bool is_running) {
  if (!is_wanted()) return;
  const Clock::time_point begin = Clock::now();
  page_.state = state;
  page_.is_running = is_running;
  page_.log = log;
  pages::write_page(file_, pages::training_page(page_));
  page_.log.clear();
  written_ = Clock::now();
  cost_ = std::chrono::duration<double>(written_ - begin).count();
}

void ReportFile::write_after(double seconds, const std::string& state, const std::string& log) {
  if (!is_wanted()) return;
  constexpr double kShare = 100;
  const double passed = std::chrono::duration<double>(Clock::now() - written_).count();
  if (passed >= std::max(seconds, kShare * cost_)) write(state, log, true);
}

}  // namespace tessera::runs
