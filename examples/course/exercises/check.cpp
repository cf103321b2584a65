#include "examples/course/exercises/check.h"

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <utility>

#include <tessera/tensor/format.h>

namespace tessera::exercises {

namespace {

/// A wrong result, and the hint of the mistake that causes it; empty if the mistake is not known.
struct WrongResult : std::runtime_error {
  std::string hint;
  WrongResult(const std::string& what, std::string known)
      : std::runtime_error(what), hint(std::move(known)) {}
};

bool close(double found, double wanted, double tolerance) {
  if (std::isnan(found) || std::isnan(wanted)) return std::isnan(found) && std::isnan(wanted);
  return found == wanted || std::abs(found - wanted) <= tolerance;  // infinities are equal too
}

/// The first difference as text; empty if all numbers are close.
std::string difference(const Matrix& found, const Matrix& wanted, double tolerance) {
  if (found.rows() != wanted.rows() || found.columns() != wanted.columns()) {
    return str_cat(": shape must be ", wanted.shape(), ", got ", found.shape());
  }
  for (index_t i = 0; i < wanted.rows(); ++i) {
    for (index_t j = 0; j < wanted.columns(); ++j) {
      if (close(found(i, j), wanted(i, j), tolerance)) continue;
      return str_cat(", row ", i, ", column ", j, ": must be ", format_scalar(wanted(i, j)),
                     ", got ", format_scalar(found(i, j)));
    }
  }
  return "";
}

/// The hint of the mistake with the result `found`; empty if no mistake has this result.
std::string hint_for(const Matrix& found, const std::vector<Mistake>& mistakes, double tolerance) {
  for (const Mistake& mistake : mistakes) {
    if (difference(found, mistake.result, tolerance).empty()) return mistake.hint;
  }
  return "";
}

/// Runs one check, prints its result, and returns whether the exercise is solved.
bool is_solved(const std::string& lesson, const Exercise& exercise) {
  const char* const name = exercise.name.c_str();
  std::string hint = exercise.hint;
  std::string error;
  try {
    manual_seed(1);
    exercise.check();
    std::printf("  %s: solved\n", name);
    return true;
  } catch (const Unsolved&) {
    std::printf("  %s: not solved yet; write it in examples/course/exercises/%s.cpp\n", name,
                lesson.c_str());
    return false;
  } catch (const WrongResult& wrong) {
    error = wrong.what();
    if (!wrong.hint.empty()) hint = wrong.hint;
  } catch (const std::exception& other) {
    error = other.what();
  }
  std::printf("  %s: wrong: %s\n      Hint: %s\n", name, error.c_str(), hint.c_str());
  return false;
}

}  // namespace

void expect_close(const std::string& what, const Matrix& found, const Matrix& wanted,
                  const std::vector<Mistake>& mistakes, double tolerance) {
  const std::string error = difference(found, wanted, tolerance);
  expect(error.empty(), what + error, hint_for(found, mistakes, tolerance));
}

void expect_close(const std::string& what, double found, double wanted,
                  const std::vector<Mistake>& mistakes, double tolerance) {
  expect(close(found, wanted, tolerance),
         str_cat(what, ": must be ", format_scalar(wanted), ", got ", format_scalar(found)),
         hint_for(Matrix(1, 1, found), mistakes, tolerance));
}

void expect(bool condition, const std::string& what, const std::string& hint) {
  if (!condition) throw WrongResult(what, hint);
}

int run_checks(const std::string& lesson, const std::vector<Exercise>& exercises) {
  std::printf("Exercises of %s\n", lesson.c_str());
  std::size_t solved = 0;
  for (const Exercise& exercise : exercises) solved += is_solved(lesson, exercise) ? 1 : 0;
  std::printf("%zu of %zu solved\n", solved, exercises.size());
  return solved == exercises.size() ? 0 : 1;
}

}  // namespace tessera::exercises
