// The terminal output of training programs.
#include <pty.h>
#include <sys/wait.h>
#include <unistd.h>
#include <csignal>

#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace {

using tessera::test::contains;

struct Drawn {
  int status;
  std::string text;
};

/// Runs a program on a terminal with `columns` columns. Types `keys` once the program has drawn the
/// remaining time.
Drawn run_program(int columns, const std::string& program, const std::string& arguments,
                  const std::string& keys = "") {
  struct winsize size = {};
  size.ws_row = 24;
  size.ws_col = static_cast<unsigned short>(columns);
  int terminal = -1;
  const pid_t child = forkpty(&terminal, nullptr, nullptr, &size);
  if (child == 0) {
    const std::string command =
        "exec " TESSERA_EMULATOR " '" TESSERA_EXAMPLES_DIR "/" + program + "' " + arguments;
    execl("/bin/sh", "sh", "-c", command.c_str(), nullptr);
    _exit(127);
  }
  Drawn drawn{-1, {}};
  bool typed = keys.empty();
  std::array<char, 4096> bytes{};
  for (ssize_t n = 0; (n = read(terminal, bytes.data(), bytes.size())) > 0;) {
    drawn.text.append(bytes.data(), static_cast<std::size_t>(n));
    if (!typed && drawn.text.find(" left") != std::string::npos) {
      typed = write(terminal, keys.data(), keys.size()) == static_cast<ssize_t>(keys.size());
    }
  }
  int status = 0;
  waitpid(child, &status, 0);
  close(terminal);
  drawn.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
  return drawn;
}

Drawn run(int columns, const std::string& arguments, const std::string& keys = "") {
  return run_program(columns, "train_reverse",
                     arguments + " --layers 1 --width 8 --heads 2 --feed-forward 16", keys);
}

/// The largest number of columns of a line that is redrawn.
std::ptrdiff_t widest_line(const std::string& text) {
  constexpr std::string_view kBegin = "\r\x1b[Kepoch ";
  std::ptrdiff_t widest = 0;
  for (std::size_t at = text.find(kBegin); at != std::string::npos;) {
    const std::size_t begin = at + 4;
    const std::size_t end = std::min(text.find_first_of("\r\n", begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    // A line at an epoch's end is permanent, and may wrap.
    if (line.find("accuracy") == std::string::npos) {
      widest = std::max(widest, std::count_if(line.begin(), line.end(), [](char c) {
                          return (static_cast<unsigned char>(c) & 0xC0) != 0x80;
                        }));
    }
    at = text.find(kBegin, begin);
  }
  return widest;
}

const std::string kSmall = "--words 100 --length 5 --batch-size 4 ";

TEST(Progress, TheLineFitsTheTerminal) {
  for (const int columns : {20, 50, 65, 80, 200}) {
    const Drawn drawn = run(columns, kSmall + "--epochs 2");
    EXPECT_EQ(drawn.status, 0) << drawn.text;
    const std::ptrdiff_t widest = widest_line(drawn.text);
    EXPECT_GT(widest, 15) << columns << "\n" << drawn.text;
    EXPECT_LT(widest, columns) << drawn.text;
  }
}

TEST(Progress, AnErrorStandsAlone) {
  const Drawn drawn = run(80, kSmall + "--epochs 100 --lr 1e9 --warmup 0.2");
  EXPECT_EQ(drawn.status, 2) << drawn.text;
  EXPECT_TRUE(contains(drawn.text, "\r\x1b[Ktrain_reverse: Trainer: "));
}

TEST(Progress, CtrlCStopsAndClearsTheLine) {
  const Drawn drawn = run(80, kSmall + "--epochs 1000000", "\x03");
  EXPECT_EQ(drawn.status, 128 + SIGINT) << drawn.text;
  // At an epoch's end, its own line has replaced this line.
  const std::size_t stopped = drawn.text.find("stopped after step ");
  ASSERT_NE(stopped, std::string::npos) << drawn.text;
  const std::string before = drawn.text.substr(0, stopped);
  EXPECT_TRUE(before.ends_with("\r\x1b[K") || before.ends_with('\n')) << drawn.text;
}

TEST(Progress, CommandsDrawWhatIsLeftAndTakeItAway) {
  const tessera::test::TemporaryFolder folder;
  std::string lines;
  for (int i = 0; i < 20000; ++i) lines += "the cat sat\n";
  std::ofstream(folder.path() / "lines.txt") << lines;
  const std::string in = " '" + folder.path().string() + "/";
  const std::string arguments = "--model '" TESSERA_GOLDEN_DIR "/folders/sentence' --threads 1" +
                                in + "lines.txt' --output" + in + "y.npy'";
  const Drawn drawn = run_program(30, "embed", arguments);
  EXPECT_EQ(drawn.status, 0) << drawn.text;
  const std::size_t begin = drawn.text.find("/20000 lines  ");
  ASSERT_NE(begin, std::string::npos) << drawn.text;
  EXPECT_TRUE(drawn.text.starts_with("\r\x1b[K")) << drawn.text;
  const std::size_t cleared = drawn.text.rfind("\r\x1b[K");
  EXPECT_TRUE(drawn.text.substr(cleared).starts_with("\r\x1b[K")) << drawn.text;
  EXPECT_EQ(drawn.text.size(), cleared + 4) << "nothing remains";
  std::size_t end = 0;
  for (std::size_t at = 0; at < cleared; at = end) {
    end = drawn.text.find("\r\x1b[K", at + 1);
    EXPECT_LE(end - at, 4U + 29U) << drawn.text;
  }
}

}  // namespace
