// Write these functions. 015_one_register.h describes each of them. Then run
//
//     cmake --build build/release --target exercise_015
#include "examples/course/exercises/015_one_register.h"

#include "examples/course/exercises/unsolved.h"

namespace tessera::exercises {

Matrix register_after(const Matrix& q, const Matrix& k, index_t i, index_t p, index_t lanes) {
  unsolved("015.1", q, k, i, p, lanes);
}

index_t largest_rows(index_t registers, index_t vectors) {
  unsolved("015.2", registers, vectors);
}

}  // namespace tessera::exercises
