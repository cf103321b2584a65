// The exercises of examples/course/017_one_register.md: write the functions, then run
//
//     cmake --build build/release --target exercise_017
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

/// 017.1. The register of row i of the scores q k^T after the steps 0, ..., p: lane j is
/// sum over s <= p of q(i, s) k(j, s), and lanes without a row of k are 0.
///
/// **Shapes**: q (Tq, d), k (Tk, d), Tk <= lanes -> (1, lanes).
Matrix register_after(const Matrix& q, const Matrix& k, index_t i, index_t p, index_t lanes) {
  unsolved("017.1", q, k, i, p, lanes);
}

/// 017.2. The rows of the largest tile of `vectors` registers per row whose sums fit into
/// `registers` registers, together with one row of the panel (`vectors` registers) and one register
/// for the element of q that is copied into all lanes. 0 if not even one row fits.
index_t largest_rows(index_t registers, index_t vectors) {
  unsolved("017.2", registers, vectors);
}

}  // namespace tessera::exercises
