// The pictures of a report; each is nothing where its cases were not measured.
#pragma once

#include <vector>

#include "bench/results/results.h"
#include "models/pages/chart.h"

namespace tessera::results {

/// FLOP/s over FLOPs per byte, under the roof min(peak, intensity * bandwidth of memory).
/// **Source**: Williams, Waterman and Patterson, "Roofline", 2009.
pages::Chart roofline(const Results& results);
/// GFLOP/s over the size of square products, and over the tokens of attention, by library.
std::vector<pages::Chart> over_size(const Results& results);
/// How many times as fast as on one thread.
pages::Chart over_threads(const Results& results);
/// GFLOP/s of the steps of a ladder.
pages::Chart ladder(const Results& results, const std::string& name, const std::string& title);
/// GFLOP/s over the width of a layer: neighbours cost alike.
pages::Chart cliffs(const Results& results);

}  // namespace tessera::results
