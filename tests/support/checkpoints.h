// Checkpoints in tests: comparison and copies.
#pragma once

#include <gtest/gtest.h>

#include "tessera/nn/training/checkpoint.h"
#include "tests/support/oracle.h"

namespace tessera::test {

/// Whether both have the same values, and tensors with the same bits.
inline ::testing::AssertionResult same_state(const nn::Checkpoint& got,
                                             const nn::Checkpoint& want) {
  if (got.values != want.values) return ::testing::AssertionFailure() << "values differ";
  if (got.tensors.size() != want.tensors.size()) {
    return ::testing::AssertionFailure() << got.tensors.size() << " tensors";
  }
  for (const auto& [name, tensor] : want.tensors) {
    if (!got.tensors.contains(name)) return ::testing::AssertionFailure() << name << " is missing";
    const auto same = same_bits(got.tensors.at(name).detach(), tensor.detach());
    if (!same) return ::testing::AssertionFailure() << name << ": " << same.message();
  }
  return ::testing::AssertionSuccess();
}

/// A copy with its own memory.
inline nn::Checkpoint copy_of(const nn::Checkpoint& state) {
  nn::Checkpoint copy = state;
  for (auto& [name, tensor] : copy.tensors) tensor = tensor.detach().clone();
  return copy;
}

}  // namespace tessera::test
