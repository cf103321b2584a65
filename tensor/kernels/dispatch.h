// The choice of the instruction set.
#pragma once

#include <string>
#include <vector>

namespace tessera {

/// The instruction sets that this build contains and this processor supports; the last one is the
/// default. The first is "baseline". On x86-64, "avx2" and "avx512" may follow (a build with
/// TESSERA_AVX512=OFF has no "avx512"); on 64-bit Arm, "dotprod" may follow.
std::vector<std::string> available_isas();

/// The instruction set in use: the one that the environment variable TESSERA_ISA names, or the last
/// of available_isas if the variable is unset or empty. **Errors** (thrown by the first use): a
/// TESSERA_ISA that is not available.
std::string current_isa();

/// Whether int8 products use the processor's instructions for dot products of bytes (VNNI; on Arm,
/// sdot). With VNNI a product takes 1/3 of the time. Products use these instructions if the
/// processor has them for the instruction set in use, and if they are allowed: by default, unless
/// the environment variable TESSERA_DOT_PRODUCTS is 0; a call of set_dot_products overrides
/// the variable. Results are bitwise equal with and without these instructions.
/// **Errors**: as current_isa; a TESSERA_DOT_PRODUCTS that is neither 0 nor 1 nor empty. The first
/// int8 product reports the same errors.
bool dot_products();

/// Allows or forbids the instructions of dot_products() for later products; for tests and
/// comparisons.
/// **Errors**: a TESSERA_DOT_PRODUCTS that is neither 0 nor 1 nor empty.
void set_dot_products(bool allowed);

/// Switches every later op, on every thread, to `name`; for tests and comparisons. Ops that run
/// end with the kernels with which they began, steps of an optimiser may not. Prepacked weights must be prepacked again.
/// **Errors**: a name that is not available; as current_isa.
void set_isa(const std::string& name);

}  // namespace tessera
