// Python's slices, for the tests of views.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "tessera/tensor/shape.h"

namespace tessera::test {

/// The positions of Python's range(n)[start:stop:step], from its reference manual.
inline std::vector<index_t> python_slice(index_t n, std::optional<index_t> start,
                                         std::optional<index_t> stop, index_t step) {
  std::vector<index_t> taken;
  const auto place = [&](index_t bound) { return bound < 0 ? bound + n : bound; };
  const index_t i = start ? place(*start) : (step > 0 ? 0 : n - 1);
  const index_t j = stop ? place(*stop) : (step > 0 ? n : -1);
  // Every position of the unbounded sequence from i, as long as it has not passed j.
  for (index_t p = -3 * n - 10; p <= 3 * n + 10; ++p) {
    const index_t at = step > 0 ? p : -p;
    const bool inside = step > 0 ? at >= i && at < j : at <= i && at > j;
    const bool exists = at >= 0 && at < n;
    if (!inside || !exists) continue;
    // A start outside is moved to the first element in the direction of the step.
    const index_t first = step > 0 ? std::max<index_t>(i, 0) : std::min(i, n - 1);
    if ((at - first) % step == 0) taken.push_back(at);
  }
  return taken;
}

}  // namespace tessera::test
