#include "models/runs/sweep_plan.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "tensor/detail/parse_number.h"
#include "tensor/error.h"

namespace tessera::runs {

namespace {

constexpr std::uint64_t kMostSeeds = 10'000;

std::vector<std::string> split(std::string_view text, char separator) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at <= text.size(); at += parts.back().size() + 1) {
    parts.emplace_back(text.substr(at, text.find(separator, at) - at));
  }
  return parts;
}

std::uint64_t parse_seed(std::string_view text, const std::string& all) {
  std::uint64_t seed = 0;
  require(static_cast<bool>(parse_number(text, seed)), "seeds",
          "must have the form 0..4 or 0,3,7, got ", printable(all));
  return seed;
}

/// Throws unless the text can be a part of a folder's name.
void check_part(const char* what, const std::string& text) {
  constexpr std::string_view kAllowed =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._+-";
  require(!text.empty() && text.find_first_not_of(kAllowed) == std::string::npos, "sweep", what,
          " must have only letters, digits and . _ + -, got ", printable(text));
}

template <class T>
void check_different(const std::string& what, const std::vector<T>& all) {
  require(!all.empty() && std::set<T>(all.begin(), all.end()).size() == all.size(), "sweep", what,
          " must be at least 1, each given once, got ", all.size());
}

}  // namespace

SweepAxis parse_axis(const std::string& text) {
  const std::size_t end = text.find('=');
  require(end != std::string::npos && end > 0, "sweep", "must have the form NAME=VALUE,VALUE, got ",
          printable(text));
  return {text.substr(0, end), split(std::string_view(text).substr(end + 1), ',')};
}

std::vector<std::uint64_t> parse_seeds(const std::string& text) {
  std::vector<std::uint64_t> seeds;
  const std::size_t dots = text.find("..");
  if (dots == std::string::npos) {
    for (const std::string& part : split(text, ',')) seeds.push_back(parse_seed(part, text));
    return seeds;
  }
  const std::uint64_t first = parse_seed(std::string_view(text).substr(0, dots), text);
  const std::uint64_t last = parse_seed(std::string_view(text).substr(dots + 2), text);
  require(first <= last && last - first < kMostSeeds, "seeds", "must be from 1 to ", kMostSeeds,
          " seeds, got ", printable(text));
  for (std::uint64_t seed = first; seeds.size() <= last - first; ++seed) seeds.push_back(seed);
  return seeds;
}

const std::string& SweepRun::text(const std::string& axis) const {
  for (const auto& [known, value] : values) {
    if (known == axis) return value;
  }
  fail("SweepRun", "axis must be one of ", printable(setting), ", got ", printable(axis));
}

double SweepRun::number(const std::string& axis) const {
  double value = 0;
  require(static_cast<bool>(parse_number(text(axis), value)), "SweepRun", axis,
          " must be a number, got ", printable(text(axis)));
  return value;
}

index_t SweepRun::integer(const std::string& axis) const {
  index_t value = 0;
  require(static_cast<bool>(parse_number(text(axis), value)), "SweepRun", axis,
          " must be a whole number, got ", printable(text(axis)));
  return value;
}

std::vector<SweepRun> plan_runs(const std::filesystem::path& folder,
                                const std::vector<SweepAxis>& axes,
                                const std::vector<std::uint64_t>& seeds) {
  check_different("seeds", seeds);
  std::vector<std::string> names = {"seed"};
  std::vector<SweepRun> settings(1);
  for (const auto& [name, values] : axes) {
    names.push_back(name);
    check_part("names", name);
    check_different("values of " + name, values);
    std::vector<SweepRun> longer;
    for (const SweepRun& setting : settings) {
      for (const std::string& value : values) {
        check_part("values", value);
        longer.push_back(setting);
        longer.back().values.emplace_back(name, value);
        longer.back().setting += (setting.setting.empty() ? "" : ",") + name + '=' + value;
      }
    }
    settings = std::move(longer);
  }
  check_different("names", names);
  std::vector<SweepRun> runs;
  for (const SweepRun& setting : settings) {
    for (const std::uint64_t seed : seeds) {
      SweepRun& run = runs.emplace_back(setting);
      run.seed = seed;
      run.name = str_cat(run.setting, run.setting.empty() ? "" : ",", "seed=", seed);
      run.folder = folder / run.name;
    }
  }
  return runs;
}

}  // namespace tessera::runs
