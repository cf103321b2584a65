// The facts that processes compare before they work together, as short texts. Private to training.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "nn/training/checkpoint.h"
#include "nn/training/communicator.h"

namespace tessera::nn {

/// A number that changes with every one of these.
std::uint64_t digest_of(std::span<const index_t> numbers);

/// Names, dtypes and shapes of tensors, and `digest`, a number that changes with their elements.
Checkpoint description_of(const StateDict& tensors);

/// "0.1.0".
std::string version_text();

/// How products of matrices round: once for a product and a sum, or twice. Instruction sets of one
/// kind have the same bits, those of the other kind others.
std::string arithmetic_text();

/// What processes compare before a trainer's run: its options and the tensors of its examples, and its
/// state without the optimiser's. The most important facts come first, because an error names the
/// first that differs.
NamedTexts facts_of_run(const Checkpoint& facts, const Checkpoint& state);

}  // namespace tessera::nn
