// The exercises of the course: messages of checks; unsolved, solved and mistaken exercises.
#include "tests/programs/exercise_variants.h"
#include "tests/support/test.h"

namespace tessera::exercises {
namespace {

using test::contains;

/// The error of a check, or an empty text.
template <class Check>
std::string error_of(const Check& check) {
  try {
    check();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return {};
}

TEST(ExerciseCheckTest, NamesTheFirstWrongNumber) {
  const double nan = std::nan("");
  const auto error = [](const Matrix& found, const Matrix& wanted) {
    return error_of([&] { expect_close("y", found, wanted); });
  };
  EXPECT_EQ(error({{1, nan, INFINITY}}, {{1 + 1e-13, nan, INFINITY}}), "");
  EXPECT_EQ(error({{1, 2}, {3, 5}}, {{1, 2}, {3, 4}}), "y, row 1, column 1: must be 4.0, got 5.0");
  EXPECT_EQ(error({{nan}}, {{7087872}}), "y, row 0, column 0: must be 7087872.0, got nan");
  EXPECT_EQ(error({{INFINITY}}, {{1}}), "y, row 0, column 0: must be 1.0, got inf");
  EXPECT_EQ(error({{1, 2}}, {{1}, {2}}), "y: shape must be (2, 1), got (1, 2)");
  EXPECT_THROW((Matrix(2, 3)(2, 0)), std::invalid_argument);
}

TEST(ExerciseCheckTest, IsRedUntilAllAreSolved) {
  const Exercise solved = {"000.1 solved", "none", [] {}};
  const Exercise wrong = {"000.2 wrong", "look again", [] { expect_close("y", 1, 2); }};
  const Exercise open = {"000.3 open", "none", [] { unsolved("000.3", 1, 2.0); }};
  EXPECT_EQ(run_checks("000_lesson", {solved}), 0);
  EXPECT_EQ(run_checks("000_lesson", {solved, open}), 1);
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_checks("000_lesson", {wrong, solved, open}), 1);
  EXPECT_EQ(testing::internal::GetCapturedStdout(),
            "Exercises of 000_lesson\n"
            "  000.2 wrong: wrong: y: must be 2.0, got 1.0\n"
            "      Hint: look again\n"
            "  000.1 solved: solved\n"
            "  000.3 open: not solved yet; write it in examples/course/exercises/000_lesson.cpp\n"
            "1 of 3 solved\n");
}

/// Expects the exit code, and returns what the checks print.
std::string output_of(const Variant& variant, int code) {
  testing::internal::CaptureStdout();
  EXPECT_EQ(run_checks(variant.lesson, variant.exercises()), code);
  return testing::internal::GetCapturedStdout();
}

TEST(ExercisesTest, UnsolvedOnesAreNamedWithTheirFile) {
  for (const Variant& variant : kVariants) {
    if (variant.name != "unsolved" || variant.wanted.empty()) continue;
    const std::string output = output_of(variant, 1);
    const std::string file = "examples/course/exercises/" + variant.lesson + ".cpp";
    for (const std::string& number : variant.wanted) {
      const std::string line = output.substr(std::min(output.find(number), output.size()));
      EXPECT_TRUE(
          contains(line.substr(0, line.find('\n')), ": not solved yet; write it in " + file));
    }
  }
}

TEST(ExercisesTest, SolutionsPass) {
  for (const Variant& variant : kVariants) {
    if (variant.name != "solved") continue;
    output_of(variant, 0);
  }
}

TEST(ExercisesTest, MistakesGetTheirHints) {
  std::map<std::string, int> mistakes;
  for (const Variant& variant : kVariants) {
    if (variant.name == "solved" || variant.name == "unsolved") continue;
    SCOPED_TRACE(variant.lesson + ": " + variant.name);
    EXPECT_TRUE(contains(output_of(variant, 1), "Hint: " + variant.wanted.at(0)));
    ++mistakes[variant.lesson];
  }
  for (const auto& [lesson, count] : mistakes) EXPECT_GE(count, 6) << lesson;
}

}  // namespace
}  // namespace tessera::exercises
