// A profile: the time of a program by module and by op.
//
//   Profile profile;
//   model.encode(texts);
//   std::cout << profile.table();
//   profile.write_trace("profile.json");      // opens in ui.perfetto.dev
//
// Ops, modules (ModulePath) and other steps (ProfileScope) report themselves. The backward of an op
// counts for the module in which the op's forward ran.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "tessera/tensor/kernels/types.h"

namespace tessera {

namespace detail {
struct ProfileLog;
}

/// The grouping of calls into rows.
enum class ProfileBy {
  kModule,    // a module: "layers.3.self_attn"
  kOp,        // an op in a module
  kMergedOp,  // an op in all modules that differ only in indices: "layers.*.self_attn"
};

/// One row. Times are in seconds, summed over all threads.
struct ProfileRow {
  std::string module;        // or the name of a ProfileScope; empty: outside of both
  std::string op;            // empty: with kModule, and for a module's time outside ops
  bool is_backward = false;  // a part of a backward pass
  index_t calls = 0;
  double total = 0;  // including inner steps that have their own rows
  double self = 0;   // without such inner steps
  double flops = 0;  // in `total`; of products and attention only
  double bytes = 0;  // in `total`: of inputs and outputs of ops
  double wait = 0;   // part of `self`: waiting for the slowest thread of a parallel region
};

/// Measures the work of all threads, from construction to stop(). While a profile starts or stops,
/// only the thread that makes and stops the profile may compute. A trace holds only the first
/// million steps that end in each thread; rows and tables include all steps.
///
/// **Errors**: a second profile while one is active.
class Profile {
 public:
  Profile();
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// Ends the measurement; all functions below end it too.
  void stop();

  /// The wall-clock time of the measurement, in seconds.
  double wall();
  /// The sum of the self times of the steps on the thread that made the profile, divided by wall().
  double explained();
  /// The rows of the profile, in descending order of `self`.
  std::vector<ProfileRow> rows(ProfileBy by);
  /// A line of wall(), explained(), thread_count() and the number of threads that have steps; then
  /// rows(kMergedOp) and rows(kModule) as tables. The last line of a table sums up the rows whose
  /// `self` is below 0.1 % of wall(), if there are any.
  std::string table();
  /// Writes the steps as a file for ui.perfetto.dev or chrome://tracing.
  /// **Errors**: as write_file. **Source**: Trace Event Format, "complete events".
  void write_trace(const std::filesystem::path& path);

 private:
  friend detail::ProfileLog;

  std::uint32_t number_;
  index_t begin_, end_ = 0;                                // in nanoseconds; 0: not yet ended
  std::vector<std::unique_ptr<detail::ProfileLog>> logs_;  // the first: of the thread that made
                                                           // this
};

}  // namespace tessera
