// The checks of options. Only the two sources that parse command lines include this: CLI11 takes
// long to compile.
#pragma once

#include <CLI/CLI.hpp>
#include <algorithm>
#include <concepts>
#include <string>
#include <vector>

#include "examples/programs/processes.h"
#include "examples/programs/range.h"
#include "tensor/error.h"
#include "tensor/io/file.h"
#include "tensor/kernels/parallel.h"
#include "tensor/parse_number.h"

namespace tessera::examples {

/// Whether all of `text` is one number in plain decimal that T can hold. Versions of CLI11 also take
/// an empty text for 0, a leading 0 for base 8, and clamp numbers that are too large.
template <class T>
bool read_number(const std::string& text, T& value) {
  if (!parse_number(text, value)) return false;
  const std::size_t first = text.starts_with('-') ? 1 : 0;
  return !std::integral<T> || text.size() == first + 1 || text[first] != '0';
}

/// The check of all numbers; the help does not spell out their bounds.
template <class T>
CLI::Validator between(Range<T> range) {
  const auto check = [range](const std::string& text) {
    T value{};
    if (read_number(text, value) && value >= range.low && value <= range.high) return std::string();
    return str_cat("must be a ", std::integral<T> ? "whole " : "", "number from ", range.low,
                   " to ", range.high, ", got ", printable(text));
  };
  return CLI::Validator(check, "");
}

inline CLI::Validator not_empty() {
  const auto check = [](const std::string& text) {
    return text.empty() ? std::string("must not be empty") : std::string();
  };
  return CLI::Validator(check, "");
}

/// The check of options that are one of several texts, which the help lists.
inline CLI::Validator one_of(const std::vector<std::string>& choices) {
  std::string list;
  for (const std::string& choice : choices) list += (list.empty() ? "" : ",") + choice;
  const auto check = [choices, list](const std::string& text) {
    if (std::ranges::find(choices, text) != choices.end()) return std::string();
    return str_cat("must be one of ", list, ", got ", printable(text));
  };
  return CLI::Validator(check, "{" + list + "}");
}

/// The option that all programs have; 0 if it is absent.
inline void add_threads(CLI::App& app, index_t& threads) {
  constexpr index_t kMostThreads = 1024;
  app.add_option("--threads", threads, "threads per process; its share of the machine if absent")
      ->check(between(Range<index_t>{1, kMostThreads}));
}

/// Sets the threads that this option has named.
inline void set_threads(index_t threads) {
  set_thread_count(threads > 0 ? static_cast<int>(threads) : default_threads());
}

}  // namespace tessera::examples
