#include "tessera/nn/state_dict.h"

#include <algorithm>
#include <tuple>
#include <utility>

#include "tessera/nn/detail/differences.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/format.h"
#include "tessera/tensor/gradient.h"

namespace tessera::nn {

namespace {

/// A line that names the prefix with more matching names than `now`; empty if there is none.
std::string better_prefix(const StateDict& wanted, const StateDict& given, const std::string& now) {
  std::map<std::string, index_t> fits;  // by the prefix of a wanted name
  for (const auto& [name, tensor] : given) {
    for (std::size_t begin = 0; begin != std::string::npos;) {
      if (wanted.contains(name.substr(begin))) ++fits[name.substr(0, begin)];
      const std::size_t dot = name.find('.', begin);
      begin = dot == std::string::npos ? dot : dot + 1;
    }
  }
  std::string best = now;
  index_t most = fits[now];
  for (const auto& [prefix, count] : fits) {
    if (count > most) std::tie(best, most) = std::pair(prefix, count);
  }
  if (best == now) return "";
  const std::string some = str_cat("\n  ", most, " of ", given.size(), " names fit ");
  if (best.empty()) return some + "as they are: load without a prefix";
  return str_cat(some, "after '", escaped(best, 80), "': load with .prefix = \"", escaped(best, 80),
                 "\"");
}

}  // namespace

detail::LoadPlan detail::plan_load(const StateDict& wanted, const StateDict& given,
                                   const LoadOptions& options) {
  LoadPlan plan;
  Differences differences;
  for (const auto& [name, tensor] : wanted) {
    const auto found = given.find(options.prefix + name);
    if (found == given.end()) {
      plan.report.missing_keys.push_back(name);
      if (options.strict) differences.add("missing: ", name, ' ', tensor.shape());
    } else if (!(found->second.shape() == tensor.shape())) {
      differences.add(name, " must have shape ", tensor.shape(), ", got ", found->second.shape());
    } else {
      plan.tensors.emplace(name, found->second);
    }
  }
  for (const auto& [name, tensor] : given) {
    const bool is_ours = name.starts_with(options.prefix);
    if (is_ours && wanted.contains(name.substr(options.prefix.size()))) continue;
    plan.report.unexpected_keys.push_back(name);
    if (options.strict && is_ours) {
      differences.add("unexpected: ", escaped(name, 80), ' ', tensor.shape());
    }
  }
  if (plan.report.missing_keys.size() == wanted.size() && !wanted.empty()) {
    if (!options.strict) differences.add("none of the ", given.size(), " names of the state fits");
  }
  std::string text = differences.text();
  if (text.empty()) return plan;
  text += better_prefix(wanted, given, options.prefix);
  if (!options.file.empty()) fail_file(options.file, "tensors must fit the module, got:", text);
  fail("load_state_dict", "state must fit the module, got:", text);
}

StateDict detail::state_dict(const Parts& parts) {
  StateDict state;
  const auto add = [&](const std::string& name, Tensor& parameter) {
    require(state.emplace(name, parameter).second, "state_dict", kUniqueNameRule, name, " twice");
  };
  parts.for_each(add, refuse_prepacked);
  return state;
}

LoadReport detail::load_state_dict(const Parts& parts, const StateDict& state,
                                   const LoadOptions& options) {
  const LoadPlan plan = plan_load(state_dict(parts), state, options);
  const bool is_busy = active_recorder != nullptr && !active_recorder->empty();
  for (const auto& [name, tensor] : plan.tensors) {
    require(!is_recorded(tensor), "load_state_dict", name,
            " of the state must not be a variable while a tape records, got one; call detach()");
  }
  const auto check = [&](const std::string& name, const Tensor& parameter) {
    const bool is_loaded = plan.tensors.contains(name);
    require(
        !is_busy || !is_loaded || !parameter.requires_grad(), "load_state_dict", name,
        " must not change while a tape has recorded ops that may read it again; load before, or "
        "after backward");
  };
  parts.for_each(check, refuse_prepacked);
  const auto load = [&](const std::string& name, Tensor& parameter) {
    const auto found = plan.tensors.find(name);
    if (found != plan.tensors.end()) parameter.copy_from(found->second);
  };
  parts.for_each(load, refuse_prepacked);
  return plan.report;
}

std::string detail::summary(const Parts& parts) {
  std::map<std::string, Shape> shapes;
  const auto add = [&](const std::string& name, const auto& p) { shapes.emplace(name, p.shape()); };
  parts.for_each(add, add);
  return describe(shapes);
}

std::string describe(const std::map<std::string, Shape>& shapes) {
  std::vector<std::vector<std::string>> rows;
  index_t total = 0;
  for (const auto& [name, shape] : shapes) {
    const index_t count = element_count("summary", shape);
    rows.push_back({name, str_cat(shape), std::to_string(count)});
    total += count;
  }
  rows.push_back({"total", "", std::to_string(total)});
  return in_columns(rows, 2);
}

}  // namespace tessera::nn
