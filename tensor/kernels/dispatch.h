// The choice of the instruction set.
#pragma once

#include <string>
#include <vector>

namespace tessera {

/// The instruction sets that this build contains and this processor supports, the default last:
/// "baseline", then on x86-64 "avx2" and, unless the build had TESSERA_AVX512=OFF, "avx512"; on
/// 64-bit Arm "dotprod".
std::vector<std::string> available_isas();

/// The instruction set in use: the one that the environment variable TESSERA_ISA names, or the last
/// of available_isas if the variable is unset or empty. **Errors** (thrown by the first use): a
/// TESSERA_ISA that is not available.
std::string current_isa();

/// Whether int8 products use the processor's instructions for dot products of bytes (VNNI; on Arm,
/// sdot). With VNNI a product takes 1/3 of the time. Products use these instructions if the
/// processor has them for the instruction set in use, and if they are allowed: by the last call of
/// set_dot_products or, without a call, unless the environment variable TESSERA_DOT_PRODUCTS is 0.
/// Results have the same bits with and without them.
/// **Errors**: as current_isa; TESSERA_DOT_PRODUCTS is set and is neither empty, 0 nor 1: the first
/// int8 product reports this error too.
bool dot_products();

/// Allows or forbids the instructions of dot_products() for later products; for tests and
/// comparisons.
/// **Errors**: a TESSERA_DOT_PRODUCTS other than 0 and 1.
void set_dot_products(bool allowed);

/// Switches every later op, on every thread, to `name`; for tests and comparisons, while no other
/// thread runs an op. Frozen weights must be frozen again.
/// **Errors**: a name that is not available.
void set_isa(const std::string& name);

}  // namespace tessera
