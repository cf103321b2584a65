// The runs of a sweep: each seed of each combination of options.
//
//   {.axes = {runs::parse_axis("lr=1e-4,3e-4")}, .seeds = runs::parse_seeds("0..4")}
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <utility>
#include <vector>

#include "tensor/kernels/types.h"

namespace tessera::runs {

/// An option and the values that it takes.
struct SweepAxis {
  std::string name;
  std::vector<std::string> values;
};

/// Reads an axis, such as "lr=1e-4,3e-4". **Errors**: a different form.
SweepAxis parse_axis(const std::string& text);

/// Reads seeds, such as "0,3,7", or "0..4" for 0 to 4. **Errors**: a different form; a range of
/// no seeds or more than 10,000.
std::vector<std::uint64_t> parse_seeds(const std::string& text);

/// One run of a sweep.
struct SweepRun {
  std::vector<std::pair<std::string, std::string>> values;  // name and value of each axis
  std::uint64_t seed = 0;
  std::string setting = {};           // "lr=1e-4,width=64"; empty without axes
  std::string name = {};              // "lr=1e-4,width=64,seed=0"
  std::filesystem::path folder = {};  // for the files of the run

  /// The value of an axis, as text or as a number. **Errors**: no axis has this name; the value is
  /// not a number, or not an integer.
  const std::string& text(const std::string& axis) const;
  double number(const std::string& axis) const;
  index_t integer(const std::string& axis) const;
};

/// All runs: for each setting, a run of each seed. In the list of settings, the value of the last
/// axis changes first. **Errors**: no seed; an axis without values; a name, a value or a seed that
/// occurs twice; an axis called "seed"; a name or value with characters other than letters, digits
/// and . _ + -, because it becomes a part of the name of a folder.
std::vector<SweepRun> plan_runs(const std::filesystem::path& folder,
                                const std::vector<SweepAxis>& axes,
                                const std::vector<std::uint64_t>& seeds);

}  // namespace tessera::runs
