// The exercises of examples/course/018_many_cores.md: write the functions, then run
//
//     cmake --build build/release --target exercise_018
#include <array>

#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

/// 018.1. Three finite numbers a, b, c of float32, such that (a + b) + c and a + (b + c), rounded
/// to float32 after each addition, are finite and differ.
std::array<float, 3> three_numbers() {
  unsolved("018.1");
}

/// The numbers of a chunk; the last chunk may have fewer.
inline constexpr std::size_t kChunk = 256;

/// 018.2. The work of one of `parts` threads for the sum of x: chunk c of x, the elements from c *
/// kChunk on, is added up in order from its first element on, in float32, and chunks[c] becomes its
/// sum. This thread's chunks are those from chunks.size() * part / parts to before chunks.size() *
/// (part + 1) / parts; it must not change others.
void sum_chunks(const std::vector<float>& x, std::size_t part, std::size_t parts,
                std::vector<float>& chunks) {
  unsolved("018.2", x, part, parts, chunks);
}

/// 018.3. The sum of all chunks' sums by a tree, in float32: neighbours 0 and 1, 2 and 3, ... are
/// added; a last one without a neighbour is kept; the results are added in the same way, until one
/// is left. Five chunks: ((0 + 1) + (2 + 3)) + 4. Without chunks, 0.
float sum_tree(std::vector<float> chunks) {
  unsolved("018.3", chunks);
}

}  // namespace tessera::exercises
