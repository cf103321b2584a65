// The machine and settings of a run; without these, figures cannot be interpreted.
#pragma once

#include <string>
#include <vector>

#include "tensor/kernels/types.h"

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

struct Machine {
  std::string cpu;
  index_t sockets = 1;
  index_t cores = 1;
  std::vector<CacheLevel> caches;
  std::string isa;
  index_t threads = 1;
  std::string compiler;
  std::string flags;
  std::string commit;
  std::string version;
  std::string affinity;  // the processors that this process may use, and OpenMP's settings
  std::string governor;  // of the clock; "unknown" in most virtual machines
  double load = 0;       // waiting or running programs, the average over a minute
  std::string os;
  std::string date;  // UTC
};

/// The machine in its present state.
Machine machine_info();

}  // namespace tessera::bench
