#include "bench/registry.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <numeric>
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

/// The letters to insert, drop or change to get from `a` to `b`.
/// **Source**: Levenshtein, "Binary codes capable of correcting deletions, insertions, and
/// reversals", 1966.
std::size_t distance(const std::string& a, const std::string& b) {
  std::vector<std::size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), std::size_t{0});
  for (std::size_t i = 0; i < a.size(); ++i) {
    std::size_t diagonal = row[0]++;
    for (std::size_t j = 0; j < b.size(); ++j) {
      const std::size_t changed = diagonal + (a[i] == b[j] ? 0 : 1);
      diagonal = row[j + 1];
      row[j + 1] = std::min({changed, row[j] + 1, diagonal + 1});
    }
  }
  return row.back();
}

/// Refuses work whose inputs and result take more than the machine's memory: the system would
/// grant it and end the program when it is written to.
void check_memory(const std::string& name, const Cost& cost) {
  const auto memory =
      static_cast<double>(sysconf(_SC_PHYS_PAGES)) * static_cast<double>(sysconf(_SC_PAGESIZE));
  require(cost.bytes <= memory, "tessera_bench", "'", name, "': memory must be at most ",
          std::floor(memory / 1e9), " GB, that of this machine, got ", std::ceil(cost.bytes / 1e9),
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

void register_case(const std::string& name, const Cost& cost, std::function<Case()> make) {
  // Cases of one first part are one kind, which knows their names and no others.
  const Work work = {cost, std::move(make)};
  std::vector<Kind>& all = all_kinds();
  const auto same = [&](const Kind& kind) { return kind.name == kind_of(name); };
  auto kind = std::find_if(all.begin(), all.end(), same);
  if (kind == all.end()) {
    const auto none = [](Parameters& p) -> Work {
      fail("tessera_bench", "name must be that of a benchmark, got '", p.name(), "'; see --list ",
           p.kind());
    };
    kind = all.insert(all.end(), {.name = kind_of(name), .work = none});
  }
  kind->names.push_back(name);
  kind->work = [name, work, others = kind->work](Parameters& p) {
    if (p.name() != name) return others(p);
    p.take_all();
    return work;
  };
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
      if (kind.by == "tessera") throw;  // another library need not have all that we have
    }
  }
  if (!found.empty()) return found;
  std::vector<std::string> names;
  for (const Kind& kind : all_kinds()) names.push_back(kind.name);
  std::string like;
  for (const std::string& other : near_misses(kind_of(name), names)) like += " " + other;
  fail("tessera_bench", "name must be that of a benchmark, got '", name, "'; ",
       like.empty() ? "see --list" : "similar names:" + like);
}

std::vector<std::string> near_misses(const std::string& word, const std::vector<std::string>& words,
                                     std::size_t count) {
  std::vector<std::pair<std::size_t, std::string>> ranked;
  for (const std::string& other : words) {
    const std::size_t far = distance(word, other);
    if (2 * far <= std::max(word.size(), other.size())) ranked.emplace_back(far, other);
  }
  const auto nearer = [](const auto& a, const auto& b) { return a.first < b.first; };
  std::stable_sort(ranked.begin(), ranked.end(), nearer);
  std::vector<std::string> result;
  for (const auto& [far, other] : ranked) {
    if (result.size() < count) result.push_back(other);
  }
  return result;
}

}  // namespace tessera::bench
