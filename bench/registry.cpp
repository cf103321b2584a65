#include "bench/registry.h"

#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <regex>

#include "tessera/models/text/text_file.h"
#include "tessera/tensor/error.h"

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

/// The case `name`, for each library that has its kind.
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

/// The whole list of a kind, or the one name.
std::vector<std::string> expand(const std::string& word) {
  for (const Kind& kind : all_kinds()) {
    if (kind.name == word && !kind.names.empty()) return kind.names;
  }
  return {word};  // select() reports the error
}

void append(const std::string& word, std::vector<Selected>& cases) {
  for (const std::string& name : expand(word)) {
    const auto same = [&](const Selected& other) { return other.name == name; };
    if (std::any_of(cases.begin(), cases.end(), same)) continue;
    for (Selected& selected : select(name)) cases.push_back(std::move(selected));
  }
}

/// `line` without its comment and surrounding blanks.
std::string name_in(const std::string& line) {
  const std::string text = line.substr(0, line.find('#'));
  const std::size_t first = text.find_first_not_of(" \t\r");
  if (first == std::string::npos) return "";
  return text.substr(first, text.find_last_not_of(" \t\r") + 1 - first);
}

void append_file(const std::string& file, std::vector<Selected>& cases) {
  const std::vector<std::string> lines = text::split_lines(text::read_text(file));
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::string name = name_in(lines[i]);
    if (name.empty()) continue;
    try {
      append(name, cases);
    } catch (const std::invalid_argument& error) {
      fail_file(file, "line ", i + 1, ": ", error.what());
    }
  }
}

void apply(const std::string& filter, std::vector<Selected>& cases) {
  std::regex pattern;
  try {
    pattern = std::regex(filter);
  } catch (const std::regex_error&) {
    fail("--filter", "must be a regular expression, got '", filter, "'");
  }
  std::erase_if(
      cases, [&](const Selected& selected) { return !std::regex_search(selected.name, pattern); });
  require(!cases.empty(), "--filter", "must match a benchmark, got '", filter, "'; see --list");
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

std::vector<Selected> select_cases(const Wanted& wanted) {
  std::vector<Selected> cases;
  for (const std::string& word : wanted.names) append(word, cases);
  if (!wanted.file.empty()) {
    append_file(wanted.file, cases);
    if (cases.empty()) fail_file(wanted.file, "must name at least 1 benchmark, got 0");
  }
  if (wanted.names.empty() && wanted.file.empty()) {
    for (const Kind& kind : all_kinds()) {
      for (const std::string& name : kind.names) append(name, cases);
    }
  }
  if (!wanted.filter.empty()) apply(wanted.filter, cases);
  return cases;
}

std::string list_cases(const Wanted& wanted) {
  std::string text;
  for (const Kind& kind : all_kinds()) {
    if (kind.by != "tessera") continue;
    text += str_cat("# ", kind.pattern, "\n#     ", kind.what, "\n");
  }
  for (const Selected& selected : select_cases(wanted)) {
    if (selected.by == "tessera") text += selected.name + "\n";
  }
  return text;
}

}  // namespace tessera::bench
