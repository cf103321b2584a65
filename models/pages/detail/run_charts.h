// Learning curves: the charts of one run or of several.
#pragma once

#include <span>
#include <vector>

#include "models/pages/chart.h"
#include "models/pages/comparison_page.h"

namespace tessera::pages {

/// Loss, accuracy, rate, norm of the gradient and speed over steps, each where the logs tell it. Of
/// one run a chart holds what was learned and what was held out; of several, one curve for each
/// run, and the loss over time.
std::vector<Chart> run_charts(std::span<const NamedRun> runs);

/// The tokens per second of a run, each over a stretch of at least a hundredth of its time.
std::vector<ChartPoint> speeds(std::span<const LoggedStep> steps);

}  // namespace tessera::pages
