// The names of the functions that elementwise kernels compute: see table.h for the kernels.
#pragma once

#include "tessera/tensor/kernels/types.h"

namespace tessera::kernels {

enum class UnaryOp {
  kNeg,
  kAbs,
  kSign,  // -1, 0 or 1; NaN for NaN
  kSquare,
  kSqrt,
  kRsqrt,  // 1 / sqrt(x)
  kReciprocal,
  kExp,
  kExpm1,  // exp(x) - 1
  kLog,
  kLog1p,  // log(1 + x)
  kSin,
  kCos,
  kTanh,
  kSigmoid,
  kErf,
  kFloor,
  kCeil,
  kRound,     // to the nearest integer, ties to even
  kRelu,      // NaN for NaN
  kSilu,      // x / (1 + exp(-x))
  kGelu,      // x (1 + erf(x / sqrt 2)) / 2
  kGeluTanh,  // x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) / 2
};

/// The elementwise function of an activation; `activation` must not be kNone.
constexpr UnaryOp function_of(Activation activation) {
  switch (activation) {
    case Activation::kNone:
      break;
    case Activation::kRelu:
      return UnaryOp::kRelu;
    case Activation::kGelu:
      return UnaryOp::kGelu;
    case Activation::kGeluTanh:
      return UnaryOp::kGeluTanh;
    case Activation::kSilu:
      return UnaryOp::kSilu;
  }
  __builtin_unreachable();
}

/// Whether the gradient of `op` is computed from its argument x, and not from its result y.
constexpr bool gradient_reads_x(UnaryOp op) {
  switch (op) {
    case UnaryOp::kAbs:
    case UnaryOp::kSquare:
    case UnaryOp::kLog:
    case UnaryOp::kLog1p:
    case UnaryOp::kSin:
    case UnaryOp::kCos:
    case UnaryOp::kErf:
    case UnaryOp::kSilu:
    case UnaryOp::kGelu:
    case UnaryOp::kGeluTanh:
      return true;
    case UnaryOp::kNeg:
    case UnaryOp::kSign:
    case UnaryOp::kSqrt:
    case UnaryOp::kRsqrt:
    case UnaryOp::kReciprocal:
    case UnaryOp::kExp:
    case UnaryOp::kExpm1:
    case UnaryOp::kTanh:
    case UnaryOp::kSigmoid:
    case UnaryOp::kFloor:
    case UnaryOp::kCeil:
    case UnaryOp::kRound:
    case UnaryOp::kRelu:
      break;
  }
  return false;
}

/// Functions of an element x and two parameters, p and q, which are the same for all elements.
enum class ParametricOp {
  kLeakyRelu,  // x if x > 0, else p x
  kSoftplus,   // log(1 + exp(p x)) / p, but x if p x > q
  kClamp,      // min(max(x, p), q): NaN for NaN, and q if p > q
};

enum class BinaryOp {
  kAdd,
  kSub,
  kMul,
  kDiv,
  kPow,      // as in C: 1 if a is 1 or b is 0, even if the other is NaN
  kMaximum,  // NaN if one is NaN
  kMinimum,
};

enum class CompareOp { kEq, kNe, kLt, kLe, kGt, kGe };

}  // namespace tessera::kernels
