// The machine and settings of a run; without these, figures cannot be interpreted.
#pragma once

#include <string>
#include <vector>

#include "tessera/tensor/io/json.h"
#include "tessera/tensor/kernels/types.h"

namespace tessera::bench {

struct CacheLevel {
  index_t level;
  std::string kind;  // "Data", "Instruction", "Unified"
  index_t bytes;
  index_t shared_by;  // processors that share one such cache
};

/// All data that Linux reports about a processor's caches, from the first level on; empty on other
/// systems.
std::vector<CacheLevel> caches();
/// The levels that hold data.
std::vector<CacheLevel> data_caches();

/// The machine in its present state: processor, caches, instruction set, threads, build, affinity
/// of the process, governor of the clock, load, system and date.
JsonObject machine_json();

}  // namespace tessera::bench
