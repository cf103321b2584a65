// All kinds of benchmarks. A name makes a case; the lists of names are only the default ones.
//
//   register_kind({.name = "scale",
//                  .pattern = "scale/N:n",
//                  .what = "y = 2 x",
//                  .names = {"scale/N:1000"},
//                  .work = [](Parameters& p) {
//                    const index_t n = p.size("N");
//                    return Work{{.bytes = bytes_of(2.0 * n)}, [n] { return scale_case(n); }};
//                  }});
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "bench/case.h"
#include "bench/parameters.h"

namespace tessera::bench {

/// The meaning of a name: the cost is known before any memory is taken.
struct Work {
  Cost cost;
  std::function<Case()> make;
};

/// Benchmarks that differ only in their parameters.
struct Kind {
  std::string name;                     // the first part of the cases' names
  std::string pattern = {};             // parameters; those in [brackets] are optional
  std::string what = {};                // one line of text
  std::vector<std::string> names = {};  // the cases that run by default
  std::function<Work(Parameters& parameters)> work;
  std::string by = "tessera";  // the library; others may have the same name
};

/// Errors: std::invalid_argument: the library already has this kind.
void register_kind(Kind kind);

/// Registers a kind whose cases are the steps 0 to `last`, all with the same cost.
void register_ladder(const std::string& name, const std::string& what, const Cost& cost,
                     index_t last, const std::function<Case(index_t step)>& make);

/// A case by one library.
struct Selected {
  std::string name;
  std::string by;
  Work work;
};

/// The selection of the cases of a run.
struct Wanted {
  std::vector<std::string> names;  // "matmul/M:100/N:333/K:77", or "matmul" for its whole list
  std::string file;                // more names, one per line; # begins a comment
  std::string filter;              // a regular expression for the names; by default of all lists
};

/// The cases, each once for every library that has it.
/// **Errors**: std::invalid_argument: no such kind; wrong parameters; more memory than the machine
/// has; no match; std::runtime_error with the line, for names from the file.
std::vector<Selected> select_cases(const Wanted& wanted);

/// The kinds with their parameters, then the names that match.
std::string list_cases(const Wanted& wanted);

}  // namespace tessera::bench
