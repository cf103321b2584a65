// Results that do not depend on the number of threads, or on concurrent calls.
#pragma once

#include <thread>
#include <vector>

#include "tessera/tensor/kernels/parallel.h"
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

/// Expects the bits of `want` from f() in eight threads at once.
template <class F>
void expect_from_threads_at_once(const Tensor& want, const F& f) {
  std::vector<Tensor> got(8);
  std::vector<std::thread> threads;
  for (Tensor& out : got) threads.emplace_back([&] { out = f(); });
  for (std::thread& thread : threads) thread.join();
  for (const Tensor& out : got) EXPECT_TRUE(same_bits(out, want));
}

}  // namespace tessera::test
