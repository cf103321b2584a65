// The processes that train together, as one of them sees the others.
//
// One process is its trivial case, OneProcess; nn/training/mpi has that of mpirun.
//
//   nn::TrainerOptions options = {.shards = 8, .processes = &processes};
//
// All processes call the same functions in the same order: send and receive match by tag, all_gather
// by its place among the calls.
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

/// A process that no longer answers: the others cannot continue.
struct ProcessLost : std::runtime_error {
  using std::runtime_error::runtime_error;
};

/// A group of processes, numbered by rank. Its functions are called by only one thread.
///
/// Messages are bytes. Between two processes those of one tag arrive in the order in which they were
/// sent. **Errors**: ProcessLost, thrown by whatever waits for a process that has ended.
class Communicator {
 public:
  virtual ~Communicator() = default;

  /// This process, from 0 to size() - 1.
  virtual index_t rank() const = 0;
  virtual index_t size() const = 0;

  /// Begins to send `bytes` to process `to`. They must stay as they are until `wait` has returned.
  /// Tags are from 0 to kMostTags - 1.
  virtual void send(index_t to, index_t tag, std::span<const std::byte> bytes) = 0;
  /// Begins to receive a message of exactly this length, which is there after `wait`.
  virtual void receive(index_t from, index_t tag, std::span<std::byte> bytes) = 0;
  /// Advances the begun messages, and returns at once. For long computations to call now and then.
  virtual void progress() = 0;
  /// Returns when all that this process has begun has ended.
  virtual void wait() = 0;

  /// The bytes of each process, by rank; their lengths may differ.
  virtual std::vector<std::string> all_gather(std::string_view mine) = 0;

  /// Bytes that this process has given to `send` so far.
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

/// Things in a row, from `begin` to before `end`.
struct Share {
  index_t begin, end;
};

/// The part of `count` things that belongs to process `rank` of `size`: they are cut into as many
/// stretches as there are processes, whose lengths differ by at most one.
Share share_of(index_t count, index_t rank, index_t size);
/// That of this process.
Share share_of(index_t count, const Communicator& processes);

using NamedTexts = std::vector<std::pair<std::string, std::string>>;

/// The results of `make` on all processes, by rank.
///
/// **Errors**: where it throws, at one process or several, std::runtime_error at all, with the text
/// of the first after "rank 2: ". One process throws its own.
std::vector<std::string> all_gather_results(Communicator& processes,
                                            const std::function<std::string()>& make);

/// Throws unless all processes give the same text under each name.
///
///     require_agreement(processes, "Trainer", {{"seed", "5"}, {"shards", "4"}});
///
/// **Errors**: std::invalid_argument, the same at all processes, that begins with `op` and says
/// which process has what under which name. Two processes are named, rank 0 and the first that
/// differs from it.
void require_agreement(Communicator& processes, const char* op, const NamedTexts& facts);

/// The number of processes that a launcher started together with this one, read from the
/// environment. Launchers are mpirun of Open MPI, of MPICH and of its derivatives, and Slurm's
/// srun. 1 without a launcher, in a batch script of Slurm, and if a variable holds no number of
/// processes.
///
/// This needs no MPI: a program that is built without it can refuse to run N times.
///
/// **Source**: OMPI_COMM_WORLD_SIZE (mpirun(1) of Open MPI); PMI_SIZE (MPICH's Hydra, Intel MPI,
/// MVAPICH, ParaStation); SLURM_STEP_NUM_TASKS and SLURM_STEP_ID (srun(1)).
index_t launched_processes();

}  // namespace tessera::nn
