// The facts that processes compare before they train together, as short texts. Private to training.
#pragma once

#include <cstdint>
#include <span>
#include <string>

#include "nn/training/checkpoint.h"
#include "nn/training/communicator.h"

namespace tessera::nn {

/// A number that depends on all of these.
std::uint64_t digest_of(std::span<const index_t> numbers);

/// Names, dtypes and shapes of tensors, and `digest`, a number that depends on their elements.
Checkpoint description_of(const StateDict& tensors);

/// "0.1.0".
std::string version_text();

/// The rounding of matrix products: once for a product and a sum, or twice. Instruction sets with
/// the same rounding give the same bits.
std::string arithmetic_text();

/// The facts that processes compare before a trainer's run: its options, the tensors of its
/// examples, and its state without the optimiser's. The most important facts come first, because an
/// error names the first difference.
NamedTexts facts_of_run(const Checkpoint& facts, const Checkpoint& state);

}  // namespace tessera::nn
