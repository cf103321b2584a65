#include "bench/selection.h"

#include <algorithm>
#include <regex>

#include "models/text/text_file.h"
#include "tensor/error.h"

namespace tessera::bench {

namespace {

/// The whole list of a kind, or the one name.
std::vector<std::string> expand(const std::string& word) {
  if (word.find('/') != std::string::npos) return {word};
  for (const Kind& kind : kinds()) {
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

std::vector<Selected> select_cases(const Wanted& wanted) {
  std::vector<Selected> cases;
  for (const std::string& word : wanted.names) append(word, cases);
  if (!wanted.file.empty()) {
    append_file(wanted.file, cases);
    if (cases.empty()) fail_file(wanted.file, "must name at least 1 benchmark, got 0");
  }
  if (wanted.names.empty() && wanted.file.empty()) {
    for (const std::string& name : known_names()) append(name, cases);
  }
  if (!wanted.filter.empty()) apply(wanted.filter, cases);
  return cases;
}

std::string list_cases(const Wanted& wanted) {
  std::string text;
  for (const Kind& kind : kinds()) {
    if (kind.by != "tessera") continue;
    text += str_cat("# ", kind.pattern, "\n#     ", kind.what, "\n");
  }
  for (const Selected& selected : select_cases(wanted)) {
    if (selected.by == "tessera") text += selected.name + "\n";
  }
  return text;
}

}  // namespace tessera::bench
