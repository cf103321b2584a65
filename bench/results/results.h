// The results of a run: measured by tessera_bench, written by --json and the peers, read by the
// report.
//
//   const Results results = read_results("report.json");
//   for (const Result& result : results.cases) use(result.name, result.by, result.best_s);
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "tessera/tensor/io/json.h"

namespace tessera::results {

/// A case as measured by one program. Times in seconds; 0 if a result has none.
struct Result {
  std::string name;  // "matmul/M:128/N:768/K:768"
  std::string by;    // "tessera", "openblas", ...
  std::string isa;
  std::string dtype;    // of the operations
  std::string label;    // printed after the figures
  std::string failure;  // why there are no times: an error, or the result was wrong
  index_t threads = 0;

  index_t calls = 0;
  double best_s = 0, median_s = 0;  // of a call
  double spread = 0;                // between the quartiles, over the median
  bool noisy = false;               // the median is more than a tenth above the best

  double flops = 0, bytes = 0;              // of a call, by the definition
  double peak_flops = 0, peak_bytes_s = 0;  // measured with this case
  double ghz = 0;
  std::optional<double> error;         // the largest, over the tolerance
  std::optional<double> memory_bytes;  // of tensors beyond inputs and result, while a call runs

  double flops_s() const { return flops / best_s; }
  double bytes_s() const { return bytes / best_s; }
};

/// Bytes per second of one level of the caches, or of "memory".
struct Bandwidth {
  std::string level;  // "L1", ..., "memory"
  double bytes = 0;   // of all arrays together
  double bytes_s = 0;
};

struct Results {
  std::string file;
  Json machine;  // an object of texts and numbers
  std::vector<Result> cases;
  std::vector<std::string> failures;  // "name: error"; these have no times
  std::vector<Bandwidth> bandwidth;
  Json document;  // the text as read
};

/// **Errors**: std::runtime_error that names the file and the place: no such file, not JSON, a
/// missing key, a time that is not above 0.
Results read_results(const std::filesystem::path& path);
Results parse_results(std::string_view text, const std::string& file);

/// Merges files into the text of one: the machine and the bandwidths of the first file that has
/// them, and all cases; of cases with the same name, program and threads the one with the best
/// time.
std::string merged(const std::vector<Results>& files);

/// The largest number of threads of the library's cases.
index_t most_threads(const Results& results);

/// The part of the name before the first '/'.
std::string group_of(const std::string& name);

}  // namespace tessera::results
