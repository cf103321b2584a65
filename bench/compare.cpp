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
#include "examples/command.h"
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
        str_cat("wanted OLD.json NEW.json, or several a side with -- between the sides, got ",
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
  examples::Command command(
      "tessera_bench_compare",
      "Says what changed beyond the noise between two sides: JSON files of "
      "tessera_bench, or with --run two commands, run in turn. Exit code 1 "
      "where something is slower. With --run the sides have one thread, unless "
      "--threads or OMP_NUM_THREADS says more.");
  bool run = false;
  std::string json;
  results::CompareOptions options;
  results::RoundOptions rounds;
  std::vector<std::string> sides;
  command.add_arguments("SIDES", sides, "OLD NEW; several files a side with -- between the sides");
  command.add("--run", run, "SIDES are two commands of tessera_bench, run in turn");
  command.add("--cases", rounds.cases, "with --run: a file of names, one a line");
  command.add("--filter", rounds.filter, "with --run: a regular expression on names");
  command.add("--rounds", rounds.rounds, "with --run: how often each side runs", {5, 1000});
  command.add("--seconds", rounds.seconds, "with --run: for each case, side and round",
              {0.001, 60});
  command.add("--keep", rounds.keep, "with --run: a folder for the JSON of each round");
  command.add("--least", options.least, "the least change that counts, as a fraction", {0, 10});
  command.add("--alpha", options.alpha, "how often equal code may be called slower", {1e-9, 0.5});
  command.add("--json", json, "writes the comparison there too");
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
