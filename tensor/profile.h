// A profile: the time of a program by module and by op.
//
//   Profile profile;
//   model.encode(texts);
//   std::cout << profile.table();
//   profile.write_trace("profile.json");      // opens in ui.perfetto.dev
//
// Ops, modules (ModulePath) and other steps (ProfileScope) report themselves; the backward of an op
// counts for the module in which the op ran forward.
#pragma once

#include <cstdint>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "tensor/kernels/types.h"
#include "tensor/machine_speed.h"

namespace tessera {

namespace detail {
struct ProfileLog;
}

/// The grouping of calls into rows.
enum class ProfileBy {
  kModule,    // a module: "layers.3.self_attn"
  kOp,        // an op in a module
  kMergedOp,  // an op in the modules that differ only in their indices: "layers.*.self_attn"
};

/// Times are in seconds, and those of all threads are summed.
struct ProfileRow {
  std::string module;        // or the name of a ProfileScope; empty: outside of all
  std::string op;            // empty: the module's own time outside ops
  bool is_backward = false;  // a part of a backward pass
  index_t calls = 0;
  double total = 0;        // including inner steps
  double self = 0;         // without inner steps
  double flops = 0;        // of `total`; products and attention
  double bytes = 0;        // of `total`: inputs and outputs of ops
  double thread_time = 0;  // `total` times the threads that each call may use
  double wait = 0;         // part of `self`: waiting for the slowest thread of a parallel region
};

/// Measures the work of all threads, from construction to stop(). Threads other than the one that
/// makes and stops the profile must not compute while it starts or stops. A trace holds the first
/// million spans that end in each thread; rows and tables include all.
///
/// **Errors**: a second profile while one is active.
class Profile {
 public:
  Profile();
  ~Profile();
  Profile(const Profile&) = delete;
  Profile& operator=(const Profile&) = delete;

  /// Ends the measurement; all functions below do so too.
  void stop();

  /// The wall-clock time of the measurement, in seconds.
  double wall();
  /// The fraction of wall() that this thread's steps account for: the sum of their self times.
  double explained();
  /// The rows of the profile, in descending order of `self`.
  std::vector<ProfileRow> rows(ProfileBy by);
  /// The speed of 100 % in "% of peak" and "% of bandwidth": measured once, by the first call, with
  /// thread_count() threads.
  const MachineSpeed& machine();
  /// A heading, then rows() as text; the last line sums up the rows below 0.1 % of wall().
  std::vector<std::vector<std::string>> cells(ProfileBy by);
  /// wall(), explained(), thread_count() and the number of threads that have steps, in one line.
  std::string summary();
  /// summary(), then the cells by op and by module.
  std::string table();
  /// Writes the spans as a file for ui.perfetto.dev or chrome://tracing.
  /// **Errors**: as write_file. **Source**: Trace Event Format, "complete events".
  void write_trace(const std::filesystem::path& path);

 private:
  friend detail::ProfileLog;

  std::uint32_t number_;
  index_t begin_, end_ = 0;                                // in nanoseconds; 0: not yet ended
  std::vector<std::unique_ptr<detail::ProfileLog>> logs_;  // the first: of the thread that made
                                                           // this
  std::optional<MachineSpeed> machine_;
};

}  // namespace tessera
