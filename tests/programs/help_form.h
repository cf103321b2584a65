// The form of --help: each option's text is a noun phrase, with the default and the unit.
#pragma once

#include <regex>
#include <sstream>
#include <string>
#include <vector>

namespace tessera::test {

/// An option, an argument without a flag, and how --help describes it.
struct HelpEntry {
  std::string name, text;
};

/// The entries in the sections of arguments and options. A text begins after at least 2 spaces, or on a
/// line of its own, and versions of CLI11 align names and wrap texts in different ways.
inline std::vector<HelpEntry> help_entries(const std::string& help) {
  static const std::regex kSection("^(positionals|options):\\s*$", std::regex::icase);
  static const std::regex kEntry("^ {2,19}((?:-\\w, *)?(?:-|[A-Z])\\S*(?: \\S+)*)(?:  +(.*))?$");
  static const std::regex kMore("^ {20,}(\\S.*)$");
  std::vector<HelpEntry> entries;
  std::istringstream lines(help);
  std::smatch found;
  bool is_inside = false;
  for (std::string line; std::getline(lines, line);) {
    if (!line.empty() && line.front() != ' ') is_inside = std::regex_match(line, kSection);
    if (!is_inside) continue;
    if (std::regex_match(line, found, kEntry)) {
      entries.push_back({found[1], found[2]});
    } else if (!entries.empty() && std::regex_match(line, found, kMore)) {
      std::string& text = entries.back().text;
      text += (text.empty() ? "" : " ") + found[1].str();
    }
  }
  return entries;
}

/// What is wrong with an entry; empty if nothing.
inline std::string fault_of(const HelpEntry& entry) {
  static const std::regex kOpening(
      "^(of|an?|the|is|are|to|how|what|where|whether|if|print|show|write|read|replace|use|make)"
      "\\b");
  static const std::regex kIdiom(
      "\\b(so (many|far)|shall|alone|beside|whoever|nobody|stands?|wants?|wanted|tells?|asks?)\\b");
  static const std::regex kNumber(" (INT|UINT|FLOAT)|\\{.*\\}"), kDefault("=|\\[.*\\]|REQUIRED");
  struct Unit {
    std::regex name, text;
  };
  static const std::vector<Unit> kUnits = {
      {std::regex("seconds|latency|--time"), std::regex("seconds")},
      {std::regex("bytes|memory"), std::regex("bytes|MB|MiB|GB")},
      {std::regex("bandwidth"), std::regex("bit/s|bytes per second")},
      {std::regex("share|percent|dropout|smoothing|warmup|--least|--slow"),
       std::regex("fraction|probability|percent")}};
  const auto& [name, text] = entry;
  const auto has = [](const std::string& where, const std::regex& what) {
    return std::regex_search(where, what);
  };
  std::smatch found;
  if (text.empty()) return "has no text";
  if (text.ends_with('.') && !text.ends_with("..")) return "ends with a full stop";
  if (std::regex_search(text, found, kOpening)) return "begins with '" + found.str() + "'";
  if (std::regex_search(text, found, kIdiom)) return "says '" + found.str() + "'";
  if (has(name, kNumber) && !has(name, kDefault) && text.find("if absent") == std::string::npos) {
    return "has no default";
  }
  for (const Unit& unit : kUnits) {
    if (has(name, unit.name) && !has(text, unit.text)) return "has no unit";
  }
  return "";
}

/// What is wrong with what --help prints, each as "NAME: ...".
inline std::vector<std::string> help_faults(const std::string& help) {
  std::vector<std::string> faults;
  for (const HelpEntry& entry : help_entries(help)) {
    const std::string fault = fault_of(entry);
    if (!fault.empty()) faults.push_back(entry.name + ": " + fault);
  }
  return faults;
}

}  // namespace tessera::test
