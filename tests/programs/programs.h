// The programs of examples/, run as by users, each test in its own folder.
#pragma once

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <string>
#include <utility>
#include <vector>

#include "tests/support/errors.h"
#include "tests/support/file_support.h"

namespace tessera::test {

namespace fs = std::filesystem;

struct Outcome {
  int status;
  std::string output;
  std::string errors;
};

/// The standard error of a command, without the NULs that Open MPI 5 adds.
inline std::string errors_in(const fs::path& path) {
  std::string text = file_text(path);
  std::erase(text, '\0');
  return text;
}

/// A call of a program, and words of the error with which it must end.
struct Refusal {
  std::string program, arguments, words;
};

/// A separate folder for each test.
class Programs : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string pattern = (fs::temp_directory_path() / "tessera_XXXXXX").string();
    ASSERT_NE(mkdtemp(pattern.data()), nullptr);
    folder_ = pattern;
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const std::string& name, const std::string& text) const {
    std::ofstream(folder_ / name, std::ios::binary) << text;
    return folder_ / name;
  }
  std::string path(const std::string& name) const { return (folder_ / name).string(); }

  /// Runs `program arguments` in the folder; `before` precedes the command.
  Outcome run(const std::string& program, const std::string& arguments,
              const std::string& before = "") const {
    const std::string command = "cd '" + folder_.string() + "' && " + before + " " +
                                TESSERA_EMULATOR " '" TESSERA_EXAMPLES_DIR "/" + program + "' " +
                                arguments + " >out.txt 2>err.txt";
    const int status = std::system(command.c_str());
    return {WIFEXITED(status) ? WEXITSTATUS(status) : -1, file_text(folder_ / "out.txt"),
            errors_in(folder_ / "err.txt")};
  }

  /// The output of `program arguments`, which must succeed.
  std::string output_of(const std::string& program, const std::string& arguments,
                        const std::string& before = "") const {
    const Outcome outcome = run(program, arguments, before);
    EXPECT_EQ(outcome.status, 0) << program << ' ' << arguments << ": " << outcome.errors;
    return outcome.output;
  }

  /// Whether the program fails as it should: exit code 2, one line on standard error that names the
  /// program and contains `words`.
  ::testing::AssertionResult fails(const std::string& program, const std::string& arguments,
                                   const std::string& words, const std::string& before = "") const {
    const Outcome outcome = run(program, arguments, before);
    const auto lines = std::count(outcome.errors.begin(), outcome.errors.end(), '\n');
    const bool names_it_once = outcome.errors.rfind(program + ": ") == 0;
    if (outcome.status == 2 && lines == 1 && names_it_once &&
        outcome.errors.find(words) != std::string::npos) {
      return ::testing::AssertionSuccess();
    }
    return ::testing::AssertionFailure()
           << program << ' ' << arguments << ": status " << outcome.status << ", " << lines
           << " lines: " << outcome.errors << "not: " << words;
  }
  void expect_fails(const std::vector<Refusal>& cases) const {
    for (const auto& [program, arguments, words] : cases) {
      EXPECT_TRUE(fails(program, arguments, words));
    }
  }
  /// The same for one program: its arguments, and words.
  void expect_fails(const std::string& program,
                    const std::vector<std::pair<std::string, std::string>>& cases) const {
    for (const auto& [arguments, words] : cases) EXPECT_TRUE(fails(program, arguments, words));
  }

  fs::path folder_;
};

}  // namespace tessera::test
