// The selection of the cases of a run.
#pragma once

#include <string>
#include <vector>

#include "bench/registry.h"

namespace tessera::bench {

struct Wanted {
  std::vector<std::string> names;  // "matmul/M:100/N:333/K:77", or "matmul" for its whole list
  std::string file;                // more names, one per line; # begins a comment
  std::string filter;              // a regular expression for the names; by default of all lists
};

/// The cases, each once for every library that has it.
/// **Errors**: std::invalid_argument: a name that is not a case, no match; std::runtime_error with
/// the line, for names from the file.
std::vector<Selected> select_cases(const Wanted& wanted);

/// The kinds with their parameters, then the names that match.
std::string list_cases(const Wanted& wanted);

}  // namespace tessera::bench
