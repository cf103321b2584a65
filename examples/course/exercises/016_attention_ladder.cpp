// The exercises of examples/course/016_attention_ladder.md: write the functions, then run
//
//     cmake --build build/release --target exercise_016
#include <limits>

#include "bench/attention_ladder.h"
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

/// The softmax of one query over the keys seen so far: m, l and O, and O / l is the output.
struct Running {
  double largest = -std::numeric_limits<double>::infinity();  // m, the largest score
  double sum = 0;                                             // l = sum of exp(s - m)
  std::vector<double> out;                                    // O = sum of exp(s - m) V, width d
};

/// 016.1. Adds a tile of keys to `running`: their scores, and their values, one row per key. If m
/// rises to m', all older terms are multiplied by exp(m - m').
///
/// **Shapes**: scores (keys), values (keys, d).
void take_tile(Running& running, const std::vector<double>& scores, const Matrix& values) {
  unsolved("016.1", running, scores, values);
}

/// 016.2. Step 3 of the ladder in float32: softmax(Q K^T / sqrt d) V for each head of the task
/// (bench/attention_ladder.h: row t of head h of q begins at q + (t * heads + h) * width), by tiles
/// of at most 128 keys. `task.room` is null: use a std::vector.
///
/// It is fast if neighbouring sums of the inner loop do not wait for each other: for a block of
/// queries, whose Q is transposed first, compute scores with the query innermost.
void attend(const bench::AttentionTask& task) {
  unsolved("016.2", task);
}

}  // namespace tessera::exercises
