// Gradients compared with central differences, in float64:
//
//     (L(x + eps) - L(x - eps)) / (2 eps),    L(x) = sum of f(x) times fixed random numbers,
//
// for every element of every input, and for every layout of each: contiguous, transposed, sliced,
// backwards and broadcast. So f may return any shape, and no two outputs' errors cancel.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <functional>
#include <string>
#include <vector>

#include "tensor/autograd/tape.h"
#include "tensor/create.h"
#include "tensor/ops/arithmetic.h"
#include "tensor/ops/reduce.h"
#include "tensor/random.h"
#include "tests/support/oracle.h"

namespace tessera::test {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensor(const Tensors&)>;

struct GradcheckOptions {
  double eps = 1e-6;
  double atol = 1e-5;
  double rtol = 1e-3;
};

/// L: f(inputs) weighted with random numbers, so that every output element has a different weight.
inline Tensor weighted_sum(const Function& f, const Tensors& inputs) {
  const Tensor y = f(inputs);
  return sum(y * random_tensor(y.shape(), kFloat64, 77, 0.5, 1.5));
}

/// dL/dx for element `at` of `x`, whose memory the inputs share.
inline double difference(const Function& f, const Tensors& inputs, Tensor x, const Dims& at,
                         double eps) {
  for (index_t axis = 0; axis < at.size(); ++axis) x = x.slice(axis, at[axis], at[axis] + 1);
  const double before = x.item();
  const auto loss_at = [&](double value) {
    x.fill(value);
    return weighted_sum(f, inputs).item();
  };
  const double above = loss_at(before + eps);
  const double below = loss_at(before - eps);
  x.fill(before);
  return (above - below) / (2 * eps);
}

/// Whether the gradients of f at `leaves` equal those of the differences. `layout` makes the tensor
/// for f from a leaf, and is part of the differentiated function.
inline ::testing::AssertionResult gradients_agree(const Function& f, Tensors leaves,
                                                  const std::function<Tensor(Tensor)>& layout,
                                                  const GradcheckOptions& options = {}) {
  const Function of_leaves = [&](const Tensors& xs) {
    Tensors seen;
    for (const Tensor& x : xs) seen.push_back(is_floating(x.dtype()) ? layout(x) : x);
    return f(seen);
  };
  for (Tensor& x : leaves) {
    if (is_floating(x.dtype())) x.set_requires_grad();
  }
  Tape tape;
  tape.backward(weighted_sum(of_leaves, leaves));
  const NoGrad pause;
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    const Tensor& x = leaves[i];
    if (!x.requires_grad()) continue;
    if (!x.grad().defined()) {
      return ::testing::AssertionFailure() << "input " << i << " has received no gradient";
    }
    if (!(x.grad().shape() == x.shape()) || x.grad().dtype() != x.dtype()) {
      return ::testing::AssertionFailure()
             << "input " << i << " of shape " << x.shape() << " has a gradient of "
             << x.grad().shape() << ", " << x.grad().dtype();
    }
    const Array want = build(x.shape(), [&](const Dims& at) {
      return difference(of_leaves, leaves, x.detach(), at, options.eps);
    });
    const auto result = near(x.grad(), want, options.rtol, options.atol);
    if (!result) return ::testing::AssertionFailure() << "input " << i << ": " << result.message();
  }
  return ::testing::AssertionSuccess();
}

/// gradients_agree for each layout of the inputs. A layout is made from a leaf by recorded views,
/// so the views' gradients are tested along with those of f.
inline ::testing::AssertionResult gradcheck(const Function& f, const Tensors& inputs,
                                            const GradcheckOptions& options = {}) {
  struct Way {
    const char* name;
    std::function<Tensor(const Tensor&)> leaf;  // from the input's values
    std::function<Tensor(Tensor)> layout;       // from the leaf
  };
  const auto last = [](const Tensor& x) { return x.rank() - 1; };
  const std::vector<Way> ways = {
      {"contiguous", [](const Tensor& x) { return x.clone(); }, [](Tensor x) { return x; }},
      {"transposed",
       [&](const Tensor& x) { return x.rank() < 2 ? x.clone() : x.transpose(0, last(x)).clone(); },
       [&](Tensor x) { return x.rank() < 2 ? x : x.transpose(0, last(x)); }},
      {"sliced",
       [&](const Tensor& x) {
         if (x.rank() == 0) return x.clone();
         Shape wide = x.shape();
         wide[last(x)] = 2 * wide[last(x)] + 1;
         Tensor leaf = full(wide, 0.25, kFloat64);
         leaf.slice(-1, 1, {}, 2).copy_from(x);
         return leaf;
       },
       [](Tensor x) { return x.rank() == 0 ? x : x.slice(-1, 1, {}, 2); }},
      {"backwards",
       [](const Tensor& x) { return x.rank() == 0 ? x.clone() : x.slice(0, {}, {}, -1).clone(); },
       [](Tensor x) { return x.rank() == 0 ? x : x.slice(0, {}, {}, -1); }},
      {"broadcast",
       [](const Tensor& x) { return x.rank() == 0 ? x.clone() : x.slice(0, 0, 1).clone(); },
       nullptr},
  };
  for (const Way& way : ways) {
    Tensors leaves;
    for (const Tensor& x : inputs) leaves.push_back(is_floating(x.dtype()) ? way.leaf(x) : x);
    ::testing::AssertionResult result = ::testing::AssertionSuccess();
    if (way.layout) {
      result = gradients_agree(f, leaves, way.layout, options);
    } else {
      // The first row represents all: each input is expanded to its own shape.
      const Function expanded = [&](const Tensors& xs) {
        Tensors seen;
        for (std::size_t i = 0; i < xs.size(); ++i) {
          seen.push_back(is_floating(xs[i].dtype()) ? xs[i].expand(inputs[i].shape()) : xs[i]);
        }
        return f(seen);
      };
      result = gradients_agree(
          expanded, leaves, [](Tensor x) { return x; }, options);
    }
    if (!result) return ::testing::AssertionFailure() << way.name << ": " << result.message();
  }
  return ::testing::AssertionSuccess();
}

/// gradcheck of a function of one tensor.
template <class F>
::testing::AssertionResult check_one(const F& f, const Tensor& x) {
  return gradcheck([&](const Tensors& in) { return f(in[0]); }, {x});
}

/// Random float64 values in [low, high), for gradcheck.
inline Tensor values(const Shape& shape, std::uint64_t seed, double low = -2, double high = 2) {
  return random_tensor(shape, kFloat64, seed, low, high);
}

}  // namespace tessera::test
