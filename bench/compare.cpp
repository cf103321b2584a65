// tessera_bench_compare: what changed beyond the noise.
//
//   tessera_bench_compare old.json new.json
//   tessera_bench_compare old1.json old2.json ... -- new1.json new2.json ...
//   tessera_bench_compare --run old/tessera_bench new/tessera_bench --cases names.txt
//
// Exit code 1 where something is slower, 0 where nothing is, 2 for errors.
#include <algorithm>
#include <iostream>
#include <string>
#include <string_view>
#include <vector>

#include "bench/compare_rounds.h"
#include "bench/results/comparison.h"
#include "examples/programs/command.h"
#include "models/pages/page.h"
#include "tensor/error.h"

namespace {

using namespace tessera;

/// How many arguments stand behind "--"; nothing where there is none.
int behind_dashes(int argc, char** argv) {
  for (int i = 1; i < argc; ++i) {
    if (std::string_view(argv[i]) == "--") return argc - i - 1;
  }
  return -1;
}

results::Comparison compare_named(const std::vector<std::string>& files, int behind,
                                  const results::CompareOptions& options) {
  const auto count = static_cast<int>(files.size());
  if (behind < 0 && count == 2) behind = 1;
  if (behind < 1 || behind >= count) {
    throw std::invalid_argument(
        str_cat("SIDES must be OLD.json NEW.json, or several files per side with -- between the "
                "sides, got ",
                count, " files"));
  }
  std::vector<results::Results> before;
  std::vector<results::Results> after;
  for (int i = 0; i < count; ++i) {
    (i < count - behind ? before : after)
        .push_back(results::read_results(files[static_cast<std::size_t>(i)]));
  }
  return results::compare_files(before, after, false, options);
}

}  // namespace

int main(int argc, char** argv) {
  examples::Command command("tessera_bench_compare",
                            "Reports changes beyond the noise between two sides: JSON files of "
                            "tessera_bench, or with --run two commands, run in turn. Exit code 1 "
                            "if a case is slower. With --run each side has one thread, unless "
                            "--threads or OMP_NUM_THREADS is given.");
  bool run = false;
  std::string json;
  results::CompareOptions options;
  results::RoundOptions rounds;
  std::vector<std::string> sides;
  command.add_arguments("SIDES", sides,
                        "OLD NEW, or several files per side with -- between the sides");
  command.add("--run", run, "take SIDES as two commands of tessera_bench and run them in turn");
  command.add_input("--cases", rounds.cases, "with --run: file of case names, one per line");
  command.add("--filter", rounds.filter,
              "with --run: regular expression that case names must match");
  command.add("--rounds", rounds.rounds, "with --run: runs of each side", {5, 1000});
  command.add("--seconds", rounds.seconds, "with --run: seconds per case, side and round",
              {0.001, 60});
  command.add("--keep", rounds.keep, "with --run: folder for the JSON of each round");
  command.add("--least", options.least, "smallest change that counts, as a fraction of the time",
              {0, 10});
  command.add("--alpha", options.alpha, "probability of reporting equal code as slower",
              {1e-9, 0.5});
  command.add_output("--json", json, "JSON file for the comparison");
  bool slower = false;
  const int status = command.run(argc, argv, [&] {
    rounds.threads = command.threads();
    const results::Comparison comparison =
        run ? results::run_rounds(sides, rounds, options)
            : compare_named(sides, behind_dashes(argc, argv), options);
    std::cout << results::table(comparison);
    if (!json.empty()) pages::write_text(json, results::json(comparison));
    slower = comparison.slower();
  });
  return status != 0 ? status : slower ? 1 : 0;
}
