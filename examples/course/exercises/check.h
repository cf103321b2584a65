// The checks of exercises: each is run and reports errors or missing solutions.
#pragma once

#include <functional>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tessera/tensor/autograd/tape.h>
#include <tessera/tensor/ops/ops.h>
#include <tessera/tensor/random.h>
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

using examples::matrix_of;

/// One exercise: a check that throws if the solution is wrong, and a hint that is printed then.
struct Exercise {
  std::string name;  // "006.1 rms_norm"
  std::string hint;
  std::function<void()> check;
};

/// The result of a common mistake, a matrix or a number, and a hint about the mistake.
struct Mistake {
  Matrix result;
  std::string hint;
  Mistake(Matrix wrong, std::string names) : result(std::move(wrong)), hint(std::move(names)) {}
  template <class Number>
  requires std::is_arithmetic_v<Number> Mistake(Number wrong, std::string names)
      : Mistake(Matrix(1, 1, static_cast<double>(wrong)), std::move(names)) {}
};

/// Throws an error that names the first number that differs from the wanted one by more than
/// `tolerance`. A NaN equals a NaN. If `found` is the result of a mistake, the mistake's hint is
/// printed instead of the exercise's.
void expect_close(const std::string& what, const Matrix& found, const Matrix& wanted,
                  const std::vector<Mistake>& mistakes = {}, double tolerance = 1e-12);
void expect_close(const std::string& what, double found, double wanted,
                  const std::vector<Mistake>& mistakes = {}, double tolerance = 1e-12);

/// Throws an error with the text `what` if `condition` is false. `hint`, unless it is empty, is
/// printed instead of the exercise's.
void expect(bool condition, const std::string& what, const std::string& hint = "");

/// Runs all checks, each from manual_seed(1), and prints 1 or 2 lines for each; returns the exit
/// code for main(): 0 if all are solved. `lesson` is the name of the lesson's files,
/// "006_a_layer_by_hand".
int run_checks(const std::string& lesson, const std::vector<Exercise>& exercises);

}  // namespace tessera::exercises
