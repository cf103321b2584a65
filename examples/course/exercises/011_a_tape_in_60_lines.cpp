// The exercises of examples/course/011_a_tape_in_60_lines.md: write the functions, then run
//
//     cmake --build build/release --target exercise_011
#include "examples/course/exercises/011_a_tape_in_60_lines.h"

namespace tessera::exercises {

/// 011.1. The gradient of the last number with regard to each number. tape[i] computed values[i], so
/// the numbers are in the order of computation.
std::vector<double> gradients(const std::vector<Op>& tape, const std::vector<double>& values) {
  unsolved("011.1", tape, values);
}

/// 011.2. All nodes from which node `last` is computed, and `last` itself: each once, and after its
/// inputs. graph[i] are the inputs of node i, which may be the same node twice.
std::vector<std::size_t> order_of(const Graph& graph, std::size_t last) {
  unsolved("011.2", graph, last);
}

/// 011.3. The gradient of a matrix of `rows` rows and `columns` columns that was broadcast to the
/// shape of dy. Each of its elements was read several times along an axis that grew; an axis that
/// did not grow has the size of dy's.
Matrix unbroadcast(const Matrix& dy, index_t rows, index_t columns) {
  unsolved("011.3", dy, rows, columns);
}

}  // namespace tessera::exercises
