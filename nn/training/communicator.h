// The processes that train together, seen from one of them.
//
// OneProcess is for a run without other processes. nn/training/mpi has the Communicator of
// processes that mpirun has started.
//
//   nn::TrainerOptions options = {.shards = 8, .communicator = &communicator};
//
// A receive gets the message that was sent with the same tag. Calls of all_gather match by their
// order, so all processes must make these calls in the same order.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/kernels/types.h"

namespace tessera::nn {

/// The error if a process no longer responds: the other processes cannot continue.
struct ProcessLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A group of processes, each with a rank. Only one thread may call the functions of a group.
///
/// Messages are bytes. Messages with the same tag between two processes arrive in the order in
/// which they were sent. **Errors**: ProcessLost, thrown by every wait for a process that has
/// ended.
class Communicator {
 public:
  virtual ~Communicator() = default;

  /// The rank of this process, from 0 to size() - 1.
  virtual index_t rank() const = 0;
  /// The number of processes.
  virtual index_t size() const = 0;

  /// Begins to send `bytes` to process `to`. The bytes must not change until `wait` has returned.
  /// **Errors**: a rank outside [0, size()), or that of this process if it is the only one; a tag
  /// outside [0, kMostTags); with MPI, more than 2^31 - 1 bytes.
  virtual void send(index_t to, index_t tag, std::span<const std::byte> bytes) = 0;
  /// Begins to receive a message of exactly this length, which is complete after `wait`.
  /// **Errors**: as send.
  virtual void receive(index_t from, index_t tag, std::span<std::byte> bytes) = 0;
  /// Advances the messages in progress, and returns at once. Long computations should call it
  /// regularly.
  virtual void progress() = 0;
  /// Returns when all messages that this process has begun to send or receive are complete.
  virtual void wait() = 0;

  /// The `mine` of each process, by rank; their lengths may differ.
  virtual std::vector<std::string> all_gather(std::string_view mine) = 0;

  /// The number of bytes that this process has passed to `send` so far.
  virtual index_t bytes_sent() const = 0;

  static constexpr index_t kMostTags = index_t{1} << 21;

 protected:
  Communicator() = default;
  Communicator(const Communicator&) = default;
  Communicator& operator=(const Communicator&) = default;
};

/// A single process. **Errors**: sending and receiving.
class OneProcess final : public Communicator {
 public:
  index_t rank() const override { return 0; }
  index_t size() const override { return 1; }
  void send(index_t to, index_t tag, std::span<const std::byte> bytes) override;
  void receive(index_t from, index_t tag, std::span<std::byte> bytes) override;
  void progress() override {}
  void wait() override {}
  std::vector<std::string> all_gather(std::string_view mine) override {
    return {std::string(mine)};
  }
  index_t bytes_sent() const override { return 0; }
};

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

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

/// The results of `make` on all processes, by rank.
///
/// **Errors**: if `make` throws in any process, a std::runtime_error in all processes. If rank 2 is
/// the lowest rank with an error, the message is "rank 2: " and the message of its error. If there
/// is only one process, the exception of `make` is passed on.
std::vector<std::string> all_gather_results(Communicator& communicator,
                                            const std::function<std::string()>& make);

/// Throws if not all processes give the same text under each name.
///
///     require_agreement(communicator, "Trainer", {{"seed", "5"}, {"shards", "4"}});
///
/// **Errors**: a std::invalid_argument, the same in all processes. Its message begins with `op` and
/// gives the name, and the texts of rank 0 and of the lowest rank with a different text.
void require_agreement(Communicator& communicator, const char* op, const NamedTexts& facts);

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
