#include "bench/registry.h"

#include <unistd.h>

#include <cmath>
#include <set>

#include "tensor/error.h"

namespace tessera::bench {

namespace {

std::vector<Kind>& all_kinds() {
  static std::vector<Kind> kinds;
  return kinds;
}

std::string kind_of(const std::string& name) {
  return name.substr(0, name.find('/'));
}

/// Throws if the inputs and the result take more than the machine's memory: the system would grant
/// it and end the program at the first write.
void check_memory(const std::string& name, const Cost& cost) {
  const auto memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  require(cost.bytes <= memory, "tessera_bench", "'", name, "': memory must be at most the ",
          std::floor(memory / 1e9), " GB of this machine, got ", std::ceil(cost.bytes / 1e9),
          " GB");
}

}  // namespace

void register_kind(Kind kind) {
  for (const Kind& other : all_kinds()) {
    require(other.name != kind.name || other.by != kind.by, "register_kind",
            "name must be new, got '", kind.name, "' by ", kind.by);
  }
  all_kinds().push_back(std::move(kind));
}

void register_ladder(const std::string& name, const std::string& what, const Cost& cost,
                     index_t last, const std::function<Case(index_t step)>& make) {
  Kind kind = {.name = name, .pattern = name + "/step:", .what = what, .work = [=](Parameters& p) {
                 const index_t step = p.size("step", {}, 0, last);
                 return Work{cost, [=] { return make(step); }};
               }};
  for (index_t step = 0; step <= last; ++step) {
    kind.names.push_back(str_cat(name, "/step:", step));
  }
  register_kind(std::move(kind));
}

const std::vector<Kind>& kinds() {
  return all_kinds();
}

std::vector<std::string> known_names() {
  std::vector<std::string> names;
  std::set<std::string> seen;
  for (const Kind& kind : all_kinds()) {
    for (const std::string& name : kind.names) {
      if (seen.insert(name).second) names.push_back(name);
    }
  }
  return names;
}

std::vector<Selected> select(const std::string& name) {
  std::vector<Selected> found;
  for (const Kind& kind : all_kinds()) {
    if (kind.name != kind_of(name)) continue;
    try {
      Parameters parameters(name);
      Work work = kind.work(parameters);
      parameters.finish();
      check_memory(name, work.cost);
      found.push_back({name, kind.by, std::move(work)});
    } catch (const std::invalid_argument&) {
      if (kind.by == "tessera") throw;  // another library need not have all of our sizes
    }
  }
  if (!found.empty()) return found;
  fail("tessera_bench", "name must be that of a benchmark, got '", name, "'; see --list");
}

}  // namespace tessera::bench
