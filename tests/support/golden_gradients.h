// Cases of golden files that hold operands, an output and gradients: `<case>.<operand>`,
// `<case>.output`, and `<case>.d<operand>` for the output gradient `<case>.dy`, `.weights`, or
// ones.
#pragma once

#include <gtest/gtest.h>

#include <functional>
#include <map>
#include <set>
#include <string>

#include "tessera/tensor/autograd/tape.h"
#include "tests/support/golden.h"
#include "tests/support/oracle.h"

namespace tessera::test {

/// The operands of one case, by name.
using GoldenOperands = std::map<std::string, Tensor>;
using GoldenFunction = std::function<Tensor(GoldenOperands&)>;

/// The names of the cases of a file.
inline std::set<std::string> golden_case_names(const GoldenCase& file) {
  std::set<std::string> names;
  for (const auto& [entry, value] : file.group("", kFloat64)) {
    names.insert(entry.substr(0, entry.find('.')));
  }
  return names;
}

/// Functions by the names of their cases.
using GoldenFunctions = std::map<std::string, GoldenFunction>;

/// Whether `f` of the operands, floating ones in `dtype`, has the output and the gradients of the
/// case. `allowed` is the relative and the absolute tolerance; the absolute tolerance of gradients
/// is multiplied by `absolute`.
inline ::testing::AssertionResult agrees(const GoldenCase& file, const std::string& name,
                                         DType dtype, const GoldenFunction& f, double allowed,
                                         double absolute = 1) {
  const GoldenOperands entries = file.group(name + ".", kFloat64);
  const auto gradient_of = [&](const std::string& operand) { return entries.find("d" + operand); };
  const std::string dy = entries.contains("weights") ? "weights" : "dy";
  GoldenOperands operands;
  for (const auto& [key, value] : entries) {
    const bool is_gradient = key == dy || (key.starts_with("d") && entries.contains(key.substr(1)));
    if (is_gradient || key == "output" || key == "indices") continue;
    Tensor x = is_floating(value.dtype()) ? value.to(dtype).clone() : value;
    if (gradient_of(key) != entries.end()) x.set_requires_grad();
    operands.emplace(key, x);
  }
  Tape tape;
  const Tensor y = f(operands);
  const auto output = near(y.detach(), array(entries.at("output")), allowed, allowed);
  if (!output) return ::testing::AssertionFailure() << name << ": " << output.message();
  if (!y.requires_grad()) return ::testing::AssertionSuccess();
  tape.backward(y, entries.contains(dy) ? entries.at(dy).to(dtype) : ones(y.shape(), dtype));
  for (const auto& [key, x] : operands) {
    if (gradient_of(key) == entries.end()) continue;
    const auto gradient =
        near(x.grad(), array(gradient_of(key)->second), allowed, absolute * allowed);
    if (!gradient) {
      return ::testing::AssertionFailure() << name << ".d" << key << ": " << gradient.message();
    }
  }
  return ::testing::AssertionSuccess();
}

/// Expects that every case of the file agrees with its function, and every function has a case.
inline void expect_every_case(const GoldenCase& file, DType dtype,
                              const GoldenFunctions& functions) {
  const std::set<std::string> names = golden_case_names(file);
  EXPECT_EQ(names.size(), functions.size());
  for (const std::string& name : names) {
    ASSERT_TRUE(functions.contains(name)) << "no function for the case " << name;
    EXPECT_TRUE(agrees(file, name, dtype, functions.at(name), dtype == kFloat32 ? 1e-5 : 1e-12))
        << dtype;
  }
}

}  // namespace tessera::test
