// Gradients of functions of tensors, checked by nn::check_gradients at every element of every input,
// and for every layout of each: contiguous, transposed, sliced, backwards and broadcast.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <limits>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tessera/nn/check_gradients.h"
#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/create.h"
#include "tests/support/oracle.h"

namespace tessera::test {

using Tensors = std::vector<Tensor>;
using Function = std::function<Tensor(const Tensors&)>;

/// Checks every element.
inline constexpr nn::GradientCheckOptions kEveryElement = {.elements =
                                                               std::numeric_limits<index_t>::max()};

/// Whether `check` throws no error of a gradient.
inline ::testing::AssertionResult agrees(const std::function<void()>& check) {
  try {
    check();
  } catch (const std::invalid_argument& error) {
    return ::testing::AssertionFailure() << error.what();
  }
  return ::testing::AssertionSuccess();
}

/// Whether the gradients of f at `leaves` equal those of the differences. `layout` makes the tensor
/// for f from a leaf, and is part of the differentiated function.
inline ::testing::AssertionResult gradients_agree(const Function& f, const Tensors& leaves,
                                                  const std::function<Tensor(Tensor)>& layout) {
  const auto of_leaves = [&](std::span<const Tensor> xs) {
    Tensors seen;
    for (const Tensor& x : xs) seen.push_back(is_floating(x.dtype()) ? layout(x) : x);
    return f(seen);
  };
  return agrees([&] { nn::check_gradients(of_leaves, leaves, kEveryElement); });
}

/// gradients_agree for each layout of the inputs. A layout is made from a leaf by recorded views,
/// so the views' gradients are tested along with those of f.
inline ::testing::AssertionResult gradcheck(const Function& f, const Tensors& inputs) {
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
      result = gradients_agree(f, leaves, way.layout);
    } else {
      // The first row represents all: each input is expanded to its own shape.
      const Function expanded = [&](const Tensors& xs) {
        Tensors seen;
        for (std::size_t i = 0; i < xs.size(); ++i) {
          seen.push_back(is_floating(xs[i].dtype()) ? xs[i].expand(inputs[i].shape()) : xs[i]);
        }
        return f(seen);
      };
      result = gradients_agree(expanded, leaves, [](Tensor x) { return x; });
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
