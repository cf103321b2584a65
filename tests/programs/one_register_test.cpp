// Lesson 017: the registers read by gdb have the values that the lesson computes by loops, on each
// instruction set.
#include <algorithm>
#include <sstream>

#include "tessera/tensor/kernels/dispatch.h"
#include "tests/programs/programs.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using Lanes = std::vector<double>;

/// The numbers in `text`.
Lanes numbers_of(const std::string& text) {
  std::istringstream in(text);
  Lanes numbers;
  for (double x; in >> x;) numbers.push_back(x);
  return numbers;
}

/// The result of each multiply-add: lines "INSTRUCTION REGISTER = NUMBERS".
std::vector<Lanes> written_registers(const std::string& output) {
  std::vector<Lanes> registers;
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) {
    const std::size_t equal = line.find(" = ");
    if (equal != std::string::npos) registers.push_back(numbers_of(line.substr(equal + 3)));
  }
  return registers;
}

/// The same by the lesson's lines "after p 0:  [0 4 2] [0 8 4] [0 8 4]", divided into registers.
std::vector<Lanes> computed_registers(const std::string& output, std::size_t lanes) {
  std::vector<Lanes> registers;
  std::istringstream in(output);
  for (std::string line; std::getline(in, line);) {
    if (!line.starts_with("after p ")) continue;
    for (std::size_t at = line.find('['); at != std::string::npos; at = line.find('[', at + 1)) {
      Lanes row = numbers_of(line.substr(at + 1));
      row.resize((row.size() + lanes - 1) / lanes * lanes);  // zeros fill the last register
      const auto width = static_cast<std::ptrdiff_t>(lanes);
      for (auto first = row.begin(); first != row.end(); first += width) {
        registers.emplace_back(first, first + width);
      }
    }
  }
  return registers;
}

using OneRegister = Programs;

TEST_F(OneRegister, HoldsTheSumsOfTheLesson) {
#if defined(TESSERA_SANITIZED)
  GTEST_SKIP() << "the tile has other instructions";
#endif
  if (!std::string(TESSERA_EMULATOR).empty()) GTEST_SKIP() << "gdb needs the processor itself";
  const std::string gdb = "gdb -q -nx -batch ";
  if (std::system((gdb + "-ex 'python import gdb' >/dev/null 2>&1").c_str()) != 0 ||
      std::system(
          (gdb + "-ex run -ex quit --args /bin/true 2>&1 | grep -q 'exited normally'").c_str()) !=
          0) {
    GTEST_SKIP() << "no gdb with Python that may run a program";
  }
  for (const std::string& isa : available_isas()) {
    SCOPED_TRACE(isa);
    const std::string command = "TESSERA_ISA=" + isa + " " + gdb +
                                "-x " TESSERA_SOURCE_DIR
                                "/examples/course/017_one_register.py '" TESSERA_EXAMPLES_DIR
                                "/017_one_register' > '" +
                                path("film.txt") + "' 2>&1";
    const int status = std::system(command.c_str());
    const std::string film = file_text(path("film.txt"));
#if defined(__clang__)
    if (contains(film, "must call a tile")) GTEST_SKIP() << "the tile is inlined";
#endif
    ASSERT_EQ(status, 0) << film;
    std::vector<Lanes> found = written_registers(film);
    ASSERT_FALSE(found.empty()) << film;
    std::vector<Lanes> wanted = computed_registers(film, found[0].size());
    ASSERT_GE(wanted.size(), 9U) << film;
    // A compiler may order the rows of a step in any way.
    std::sort(found.begin(), found.end());
    std::sort(wanted.begin(), wanted.end());
    EXPECT_EQ(found, wanted) << film;
  }
}

}  // namespace
}  // namespace tessera::test
