// Results that do not depend on the number of threads.
#pragma once

#include "tensor/kernels/parallel.h"
#include "tests/support/oracle.h"

namespace tessera::test {

/// Returns f() on one thread, and expects the same bits on several.
template <class F>
Tensor same_on_any_threads(const F& f) {
  set_thread_count(1);
  const Tensor one = f();
  for (const int threads : {2, 3, 4, 7, 8}) {
    set_thread_count(threads);
    EXPECT_TRUE(same_bits(f(), one)) << threads << " threads";
  }
  set_thread_count(0);
  return one;
}

}  // namespace tessera::test
