// The parameters that a constructor asks its source for.
#pragma once

#include <map>
#include <string>
#include <utility>

#include "nn/source.h"
#include "nn/state_dict.h"

namespace tessera::test {

using ParameterShapes = std::map<std::string, Shape>;

/// The parameters that an M with these options asks its source for, and those that it names in
/// `visit`. They must be the same, or the module cannot be loaded.
template <class M, class Options>
std::pair<ParameterShapes, ParameterShapes> asked_and_named(const Options& options) {
  ParameterShapes asked, named;
  Rng rng(1);
  const M module(
      options, nn::Source([&](const std::string& name, const Shape& shape, const nn::Start& start) {
        asked.emplace(name, shape);
        return start(shape, rng);
      }));
  for (const auto& [name, tensor] : nn::state_dict(module)) named.emplace(name, tensor.shape());
  return {asked, named};
}

}  // namespace tessera::test
