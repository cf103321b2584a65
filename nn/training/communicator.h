// The processes that train together, seen from one of them.
//
// OneProcess is for a run without other processes. nn/training/mpi has the Communicator of
// processes that mpirun has started.
//
//   nn::TrainerOptions options = {.shards = 8, .communicator = &communicator};
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/tensor/kernels/types.h"

namespace tessera::nn {

/// A group of processes, each with a rank. Calls of all processes match by their order, so all
/// processes must make the same calls in the same order. Only one thread of a process may call.
class Communicator {
 public:
  virtual ~Communicator() = default;

  /// The rank of this process, from 0 to size() - 1.
  virtual index_t rank() const = 0;
  /// The number of processes.
  virtual index_t size() const = 0;
  /// Sends `parts[r]` to process r, for each r; returns the texts that the processes have sent to
  /// this process, by rank. Texts may have any bytes and lengths.
  /// **Errors**: a number of parts other than size(); a process that has ended.
  virtual std::vector<std::string> all_to_all(std::span<const std::string_view> parts) = 0;

  /// The `mine` of each process, by rank. **Errors**: as all_to_all.
  std::vector<std::string> all_gather(std::string_view mine);

 protected:
  Communicator() = default;
  Communicator(const Communicator&) = default;
  Communicator& operator=(const Communicator&) = default;
};

/// A single process.
class OneProcess final : public Communicator {
 public:
  index_t rank() const override { return 0; }
  index_t size() const override { return 1; }
  std::vector<std::string> all_to_all(std::span<const std::string_view> parts) override;
};

/// Throws if `text`, which describes `what`, differs between processes; all must call it.
/// **Errors**: texts that differ, with those of rank 0 and of the lowest rank with a different one.
void require_same(Communicator& communicator, const char* op, std::string_view what,
                  std::string_view text);

/// The items with indices from `begin` to `end` - 1.
struct Share {
  index_t begin, end;
};

/// The part of `count` items that belongs to process `rank` of `size`: the items are divided into
/// ranges, one per process, whose lengths differ by at most one.
/// **Errors**: a rank outside [0, size).
Share share_of(index_t count, index_t rank, index_t size);
/// As above, for this process and its group.
Share share_of(index_t count, const Communicator& communicator);

/// The number of processes that a launcher has started, this process included, read from
/// environment variables. Launchers are mpirun of Open MPI, of MPICH and of its derivatives, and
/// Slurm's srun. The number is 1 without a launcher, in a batch script of Slurm, and if the
/// launcher's variable holds no valid number of processes.
///
/// This function needs no MPI: a program built without MPI can report an error if a launcher has
/// started it N times.
///
/// **Source**: OMPI_COMM_WORLD_SIZE (mpirun(1) of Open MPI); PMI_SIZE (MPICH's Hydra, Intel MPI,
/// MVAPICH, ParaStation); SLURM_STEP_NUM_TASKS and SLURM_STEP_ID (srun(1)).
index_t launched_processes();

}  // namespace tessera::nn
