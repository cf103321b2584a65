// tessera_bench_compare: the changes beyond the noise.
//
//   tessera_bench_compare old/tessera_bench new/tessera_bench --cases names.txt
//
// Exit code: 0 if nothing is slower, 1 if something is, 2 for errors.
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

#include "bench/results/comparison.h"
#include "examples/programs/cli.h"
#include "tessera/tensor/error.h"

namespace {

using namespace tessera;
using namespace tessera::results;

struct RoundOptions {
  std::string cases;   // a file of names
  std::string filter;  // a regular expression for names
  index_t rounds = 100;
  double seconds = 0.03;  // of calls for each case, side and round
  index_t threads = 0;    // of the sides; 0: OMP_NUM_THREADS, by default 1
};

namespace fs = std::filesystem;

/// A temporary folder.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "tessera_compare_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr)
      fail_file(pattern, "cannot make this folder: ", std::generic_category().message(errno));
    path_ = pattern;
  }
  ~Folder() {
    std::error_code ignored;
    fs::remove_all(path_, ignored);
  }
  Folder(const Folder&) = delete;
  Folder& operator=(const Folder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

std::string quoted(const std::string& text) {
  std::string result = "'";
  for (const char c : text) result += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return result + "'";
}

/// One thread by default: two wait for each other, and so for every other program.
void set_threads(index_t threads) {
  const bool said = threads > 0;
  setenv("OMP_NUM_THREADS", str_cat(said ? threads : 1).c_str(), said ? 1 : 0);
}

Results run_once(const std::string& side, const RoundOptions& options, const fs::path& json) {
  std::string command = side + " --no-peaks --seconds " + str_cat(options.seconds);
  if (!options.cases.empty()) command += " --cases " + quoted(options.cases);
  if (!options.filter.empty()) command += " --filter " + quoted(options.filter);
  command += " --json " + quoted(json.string()) + " >" + quoted(json.string() + ".txt") + " 2>&1";
  const int status = std::system(command.c_str());
  if (status != 0) {
    fail_file(side, "exit code must be 0, got ", WIFEXITED(status) ? WEXITSTATUS(status) : status,
              "; run this command to see its error: ", command);
  }
  return read_results(json);
}

/// Runs `sides[0]` and `sides[1]` in the order 0 1 1 0 0 1 1 0 ..., each a fresh process, and
/// compares the best calls of the rounds. A side is a shell command, so that `env NAME=VALUE
/// PROGRAM` works too. Progress goes to standard error.
///
/// Many short rounds are better than few long ones: disturbances by other programs last for
/// seconds, and the addresses of a process's pages change its times by a percent for its whole
/// life. So the sides do not measure peaks, which would take longer than the calls.
/// **Errors**: std::runtime_error, a command fails or writes no JSON; std::invalid_argument, not
/// two sides, neither names nor a filter, or too few rounds for the number of cases.
Comparison run_rounds(const std::vector<std::string>& sides, const RoundOptions& rounds,
                      const CompareOptions& options) {
  for (const std::string& side : sides) {
    require(!side.ends_with(".json"), "tessera_bench_compare",
            "SIDES must be commands of tessera_bench, got the file ", printable(side));
  }
  require(sides.size() == 2, "tessera_bench_compare", "SIDES must be 2 commands, got ",
          sides.size());
  require(!rounds.cases.empty() || !rounds.filter.empty(), "tessera_bench_compare",
          "--cases or --filter must be given, got neither");
  const Folder folder;
  set_threads(rounds.threads);
  std::vector<Results> found[2];
  for (index_t round = 0; round < rounds.rounds; ++round) {
    for (index_t turn = 0; turn < 2; ++turn) {
      const auto side = static_cast<std::size_t>((round + turn) % 2);
      const fs::path json = folder.path() / str_cat(side == 0 ? "old" : "new", round, ".json");
      Results results = run_once(sides[side], rounds, json);
      if (results.cases.empty()) fail_file(sides[side], "must measure at least 1 case, got 0");
      found[side].push_back(std::move(results));
    }
    const auto cases = static_cast<index_t>(found[0].front().cases.size());
    const index_t least = least_rounds(cases, options);
    require(rounds.rounds >= least, "tessera_bench_compare", "--rounds must be at least ", least,
            " for ", cases, cases == 1 ? " case" : " cases", ", got ", rounds.rounds);
    std::cerr << "\rround " << round + 1 << "/" << rounds.rounds << std::flush;
  }
  std::cerr << '\n';
  return compare_rounds(found[0], found[1], options);
}

}  // namespace

int main(int argc, char** argv) {
  examples::Command command("tessera_bench_compare",
                            "Runs two commands of tessera_bench in turn and reports changes beyond "
                            "the noise. Exit code 1 if a case is slower. Each side has one thread, "
                            "unless --threads or OMP_NUM_THREADS is given.");
  CompareOptions options;
  RoundOptions rounds;
  std::vector<std::string> sides;
  command.add_arguments("SIDES", sides, "OLD NEW: two commands of tessera_bench",
                        examples::kRequired);
  command.add_input("--cases", rounds.cases, "file of case names, one per line");
  command.add("--filter", rounds.filter, "regular expression that case names must match");
  command.add("--rounds", rounds.rounds, "runs of each side", {5, 1000});
  command.add("--seconds", rounds.seconds, "seconds per case, side and round", {0.001, 60});
  command.add("--least", options.least, "smallest change that counts, as a fraction of the time",
              {0, 10});
  command.add("--alpha", options.alpha, "probability of reporting equal code as slower",
              {1e-9, 0.5});
  bool slower = false;
  const int status = command.run(argc, argv, [&] {
    rounds.threads = command.threads();
    const Comparison comparison = run_rounds(sides, rounds, options);
    std::cout << table(comparison);
    slower = comparison.slower();
  });
  return status != 0 ? status : slower ? 1 : 0;
}
