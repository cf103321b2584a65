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

/// In the order of registration.
const std::vector<Kind>& kinds();

/// The names of all kinds' lists, each once.
std::vector<std::string> known_names();

/// A case by one library.
struct Selected {
  std::string name;
  std::string by;
  Work work;
};

/// The case `name`, for each library that has its kind.
/// **Errors**: std::invalid_argument: no such kind; wrong parameters; more memory than the machine
/// has.
std::vector<Selected> select(const std::string& name);

}  // namespace tessera::bench
