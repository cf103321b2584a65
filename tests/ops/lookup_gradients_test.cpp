// The gradients of lookups, which add to the selected elements: by their definition, and the same
// for all numbers of threads.
#include <gtest/gtest.h>

#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/indexing.h"
#include "tests/support/threads.h"

namespace tessera::test {
namespace {

/// The gradient of `op` at x for an output gradient of random numbers.
template <class Op>
Tensor gradient_of(const Op& op, const Tensor& x) {
  const Tensor leaf = x.clone().set_requires_grad();
  Tape tape;
  const Tensor y = op(leaf);
  tape.backward(y, random_tensor(y.shape(), kFloat32, 45));
  return leaf.grad();
}

/// Whether the gradient of a lookup has the same bits for all numbers of threads and equals the
/// definition: `place(at)` is the position from which element `at` of the output was read.
template <class Op, class Place>
void expect_lookup_gradient(const Op& op, const Tensor& x, const Place& place) {
  const Tensor alone = same_on_any_threads([&] { return gradient_of(op, x); });
  Array want = build(x.shape(), [](const Dims&) { return 0.0; });
  const Array dy = array(random_tensor(op(x).shape(), kFloat32, 45));
  for_each_index(dy.shape, [&](const Dims& at) { want.at(place(at)) += dy.at(at); });
  EXPECT_TRUE(near(alone, want, 1e-5, 1e-4));
}

TEST(LookupGradients, AreTheSameForAllNumbersOfThreads) {
  const auto ids = [](const Shape& shape, index_t limit) {
    return (random_tensor(shape, kFloat64, 46, 0, 1) * static_cast<double>(limit)).to(kInt64);
  };
  const auto id = [](const Tensor& of, const Dims& at) { return of.item_at<index_t>(at); };
  const Tensor words = ids({8, 100}, 30);
  expect_lookup_gradient([&](const Tensor& x) { return embedding(words, x); },
                         random_tensor({30, 70}, kFloat32, 47),
                         [&](const Dims& at) {
                           return Dims{id(words, {at[0], at[1]}), at[2]};
                         });
  const Tensor chosen = ids({300}, 9);
  expect_lookup_gradient([&](const Tensor& x) { return index_select(x, 1, chosen); },
                         random_tensor({8, 9, 33}, kFloat32, 48),
                         [&](const Dims& at) {
                           return Dims{at[0], id(chosen, {at[1]}), at[2]};
                         });
  expect_lookup_gradient([&](const Tensor& x) { return index_select(x, -1, chosen); },
                         random_tensor({40, 5, 9}, kFloat32, 49),
                         [&](const Dims& at) {
                           return Dims{at[0], at[1], id(chosen, {at[2]})};
                         });
  const Tensor places = ids({200, 150}, 40);
  expect_lookup_gradient([&](const Tensor& x) { return gather(x, 0, places); },
                         random_tensor({40, 160}, kFloat32, 50),
                         [&](const Dims& at) {
                           return Dims{id(places, at), at[1]};
                         });
  expect_lookup_gradient([&](const Tensor& x) { return gather(x, 1, places); },
                         random_tensor({210, 40}, kFloat32, 50),
                         [&](const Dims& at) {
                           return Dims{at[0], id(places, at)};
                         });
}

}  // namespace
}  // namespace tessera::test
