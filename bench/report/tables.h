// The tables that a report and the READMEs share.
#pragma once

#include <string>
#include <vector>

#include "bench/results/results.h"

namespace tessera::results {

struct Table {
  std::vector<std::string> columns;
  std::vector<std::vector<std::string>> rows;

  bool empty() const { return rows.empty(); }
};

/// The largest number of threads of the library's cases.
index_t most_threads(const Results& results);
/// The case by `by` with this number of threads, null if it was not measured.
const Result* find_case(const Results& results, const std::string& name, const std::string& by,
                        index_t threads);

/// Processor, caches, instruction set, compiler, commit and the rest of "machine".
Table machine_table(const Results& results);
/// Bytes per second of each cache level and of memory.
Table bandwidth_table(const Results& results);
/// The steps of `ladder` ("matmul_ladder"), on one thread and on the largest number.
Table ladder_table(const Results& results, const std::string& ladder);
/// For each group: the geometric mean and the worst of (time of the best other library / ours).
Table peer_groups_table(const Results& results);
/// Every case that another library also ran: the best times.
Table peer_cases_table(const Results& results);
/// Every case: times, rates, shares of the peaks, and the error.
Table cases_table(const Results& results);
/// Cases with a wrong result, and the error.
Table failures_table(const Results& results);
/// A few cases that represent the library.
Table highlights_table(const Results& results);

std::string to_markdown(const Table& table);

}  // namespace tessera::results
