#include "bench/compare_rounds.h"

#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <iostream>
#include <utility>

#include "tensor/error.h"

namespace tessera::results {

namespace {

namespace fs = std::filesystem;

/// A temporary folder.
class Folder {
 public:
  Folder() {
    std::string pattern = (fs::temp_directory_path() / "tessera_compare_XXXXXX").string();
    if (mkdtemp(pattern.data()) == nullptr) fail_file(pattern, "cannot make this folder");
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
    fail_file(side, "must end with 0, got ", WIFEXITED(status) ? WEXITSTATUS(status) : status,
              "; run this command to see its error: ", command);
  }
  return read_results(json);
}

}  // namespace

Comparison run_rounds(const std::vector<std::string>& sides, const RoundOptions& rounds,
                      const CompareOptions& options) {
  require(sides.size() == 2, "run_rounds", "needs two commands, got ", sides.size());
  require(!rounds.cases.empty() || !rounds.filter.empty(), "run_rounds",
          "needs --cases or --filter");
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
    require(rounds.rounds >= least, "run_rounds", "--rounds must be at least ", least, " for ",
            cases, " cases, got ", rounds.rounds);
    std::cerr << "\rround " << round + 1 << "/" << rounds.rounds << std::flush;
  }
  std::cerr << '\n';
  return compare_rounds(found[0], found[1], options);
}

}  // namespace tessera::results
