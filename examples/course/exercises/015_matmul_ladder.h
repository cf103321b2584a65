// The types of the exercises of examples/course/015_matmul_ladder.md.
#pragma once

#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

/// A core: its clock, the instructions that it starts per cycle, and the cycles of a multiply-add.
struct Core {
  double ghz, multiply_adds, loads, stores, latency;
};

/// An inner loop, for each of its multiply-add instructions: its vector width, loads and
/// stores, and independent sums, as printed by 015_matmul_ladder.
struct Loop {
  double width, loads, stores, sums;
};

/// A vector of kBytes / 4 floats: + and * work on all lanes. `unaligned` may have any address.
template <int kBytes>
struct Vector {
  typedef float type __attribute__((vector_size(kBytes)));
  typedef float unaligned __attribute__((vector_size(kBytes), aligned(4), may_alias));
};
template <int kBytes>
using Vec = typename Vector<kBytes>::type;

/// The vector at p, for reading or writing: `vector_at<64>(c) = sum;`
template <int kBytes>
[[gnu::always_inline]] inline typename Vector<kBytes>::unaligned& vector_at(float* p) {
  return *reinterpret_cast<typename Vector<kBytes>::unaligned*>(p);
}
template <int kBytes>
[[gnu::always_inline]] inline const typename Vector<kBytes>::unaligned& vector_at(const float* p) {
  return *reinterpret_cast<const typename Vector<kBytes>::unaligned*>(p);
}

}  // namespace tessera::exercises
