// How the vectors of a sequence's tokens become one.
//
// A way of pooling is a name and a function. One of your own needs no place in a list:
//
//   constexpr Pooling kLast = {"last", [](const Tensor& x, const Tokens& tokens) { ... }};
#pragma once

#include <span>
#include <string_view>

#include "models/tokens.h"

namespace tessera::models {

/// One vector a sequence, from its real tokens alone: the elements of padding are never looked at,
/// NaN or not, and change no bit.
///
/// **Shapes**: x (B, T, D), the vectors of `tokens`, of which a pooling reads what it needs: lengths
/// here, ids and types too in others -> (B, D).
/// **Errors**: no token; shapes that do not fit; a length that is not from 1 to T.
struct Pooling {
  std::string_view name;
  Tensor (*function)(const Tensor& x, const Tokens& tokens);

  Tensor operator()(const Tensor& x, const Tokens& tokens = {}) const;

  static const Pooling kMean;  // their mean
  static const Pooling kCls;   // the first one; whoever makes the examples puts a [CLS] there
  static const Pooling kMax;   // the largest element in each column

  /// Those above, and by name. **Errors**: a name that is none of theirs.
  static std::span<const Pooling> all();
  static const Pooling& named(std::string_view name);
};

}  // namespace tessera::models
