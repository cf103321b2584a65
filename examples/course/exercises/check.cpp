#include "examples/course/exercises/check.h"

#include <cstdio>
#include <exception>
#include <stdexcept>
#include <utility>

#include "tensor/error.h"
#include "tensor/format.h"
#include "tensor/random.h"

namespace tessera::exercises {

namespace {

/// A wrong result that is caused by a known mistake.
struct KnownMistake : std::runtime_error {
  std::string hint;
  KnownMistake(const std::string& what, std::string known)
      : std::runtime_error(what), hint(std::move(known)) {}
};

bool close(double found, double wanted, double tolerance) {
  if (std::isnan(found) || std::isnan(wanted)) return std::isnan(found) && std::isnan(wanted);
  return found == wanted || std::abs(found - wanted) <= tolerance;  // infinities are equal too
}

bool close(const Matrix& found, const Matrix& wanted, double tolerance) {
  if (found.shape() != wanted.shape()) return false;
  for (std::size_t i = 0; i < wanted.values().size(); ++i) {
    if (!close(found.values()[i], wanted.values()[i], tolerance)) return false;
  }
  return true;
}

void fail_number(const std::string& what, double found, double wanted) {
  throw std::runtime_error(
      str_cat(what, ": must be ", format_scalar(wanted), ", got ", format_scalar(found)));
}

/// Runs `check`; if it fails, and `found` is the result of a mistake, the error gets its hint.
template <class Check>
void explain(const Check& check, const Matrix& found, const std::vector<Mistake>& mistakes,
             double tolerance) {
  try {
    check();
  } catch (const std::runtime_error& error) {
    for (const Mistake& mistake : mistakes) {
      if (close(found, mistake.result, tolerance)) throw KnownMistake(error.what(), mistake.hint);
    }
    throw;
  }
}

void print_wrong(const Exercise& exercise, const std::exception& error, const std::string& hint) {
  std::printf("  %s: wrong: %s\n      Hint: %s\n", exercise.name.c_str(), error.what(),
              hint.c_str());
}

/// Runs one check, prints its result, and returns whether the exercise is solved.
bool is_solved(const std::string& lesson, const Exercise& exercise) {
  const char* const name = exercise.name.c_str();
  try {
    manual_seed(1);
    exercise.check();
    std::printf("  %s: solved\n", name);
    return true;
  } catch (const Unsolved&) {
    std::printf("  %s: not solved yet; write it in examples/course/exercises/%s.cpp\n", name,
                lesson.c_str());
  } catch (const KnownMistake& error) {
    print_wrong(exercise, error, error.hint);
  } catch (const std::exception& error) {
    print_wrong(exercise, error, exercise.hint);
  }
  return false;
}

}  // namespace

void expect_close(const std::string& what, double found, double wanted, double tolerance) {
  if (!close(found, wanted, tolerance)) fail_number(what, found, wanted);
}

void expect_close(const std::string& what, const Matrix& found, const Matrix& wanted,
                  double tolerance) {
  expect(found.rows() == wanted.rows() && found.columns() == wanted.columns(),
         what + ": shape must be " + wanted.shape() + ", got " + found.shape());
  for (index_t i = 0; i < wanted.rows(); ++i) {
    for (index_t j = 0; j < wanted.columns(); ++j) {
      if (close(found(i, j), wanted(i, j), tolerance)) continue;
      fail_number(str_cat(what, ", row ", i, ", column ", j), found(i, j), wanted(i, j));
    }
  }
}

void expect_close(const std::string& what, double found, double wanted,
                  const std::vector<Mistake>& mistakes, double tolerance) {
  explain([&] { expect_close(what, found, wanted, tolerance); }, Matrix(1, 1, found), mistakes,
          tolerance);
}

void expect_close(const std::string& what, const Matrix& found, const Matrix& wanted,
                  const std::vector<Mistake>& mistakes, double tolerance) {
  explain([&] { expect_close(what, found, wanted, tolerance); }, found, mistakes, tolerance);
}

void expect(bool condition, const std::string& what) {
  if (!condition) throw std::runtime_error(what);
}

void expect(bool condition, const std::string& what, const std::string& hint) {
  if (!condition) throw KnownMistake(what, hint);
}

int run_checks(const std::string& lesson, const std::vector<Exercise>& exercises) {
  std::printf("Exercises of %s\n", lesson.c_str());
  std::size_t solved = 0;
  for (const Exercise& exercise : exercises) solved += is_solved(lesson, exercise) ? 1 : 0;
  std::printf("%zu of %zu solved\n", solved, exercises.size());
  return solved == exercises.size() ? 0 : 1;
}

}  // namespace tessera::exercises
