// tessera_bench_compare: what changed beyond the noise.
//
//   tessera_bench_compare old/tessera_bench new/tessera_bench --cases names.txt
//
// Exit code 1 where something is slower, 0 where nothing is, 2 for errors.
#include <iostream>
#include <string>
#include <vector>

#include "bench/compare_rounds.h"
#include "examples/programs/command.h"

int main(int argc, char** argv) {
  using namespace tessera;
  examples::Command command("tessera_bench_compare",
                            "Runs two commands of tessera_bench in turn and reports changes beyond "
                            "the noise. Exit code 1 if a case is slower. Each side has one thread, "
                            "unless --threads or OMP_NUM_THREADS is given.");
  bool run = false;
  results::CompareOptions options;
  results::RoundOptions rounds;
  std::vector<std::string> sides;
  command.add_arguments("SIDES", sides, "OLD NEW: two commands of tessera_bench").required();
  command.add("--run", run, "no effect: SIDES are always run");
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
    const results::Comparison comparison = results::run_rounds(sides, rounds, options);
    std::cout << results::table(comparison);
    slower = comparison.slower();
  });
  return status != 0 ? status : slower ? 1 : 0;
}
