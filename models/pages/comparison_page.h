// Several training runs, compared.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "models/pages/page.h"
#include "models/pages/run_charts.h"

namespace tessera::pages {

/// A row of texts for each run, under a row of names: steps, losses, accuracy, speed and time.
std::vector<std::vector<std::string>> comparison_rows(std::span<const NamedRun> runs);

/// That table and the runs' curves, a chart for each quantity.
Page comparison_page(std::span<const NamedRun> runs);

}  // namespace tessera::pages
