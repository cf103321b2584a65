// The parameters that a constructor requests from its source.
#pragma once

#include <gtest/gtest.h>

#include <map>
#include <string>

#include "tessera/nn/parameter_source.h"
#include "tessera/nn/state_dict.h"

namespace tessera::test {

using ParameterShapes = std::map<std::string, Shape>;

/// Expects the constructor of an M with these options to request each parameter once from its
/// source, as named by `visit`: otherwise an M could not be loaded. Returns these parameters.
template <class M, class Options>
ParameterShapes expect_asks_for_what_it_names(const Options& options) {
  ParameterShapes asked, named;
  Rng rng(1);
  const M module(options, nn::ParameterSource([&](const std::string& name, const Shape& shape,
                                                  const nn::Init& init) {
                   EXPECT_TRUE(asked.emplace(name, shape).second) << name << " is asked for twice";
                   return init(shape, rng);
                 }));
  for (const auto& [name, tensor] : nn::state_dict(module)) named.emplace(name, tensor.shape());
  EXPECT_EQ(asked, named);
  return named;
}

}  // namespace tessera::test
