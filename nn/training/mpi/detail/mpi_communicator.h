// nn::Communicator implemented with MPI.
#pragma once

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "nn/training/communicator.h"
#include "nn/training/mpi/detail/place.h"

namespace tessera::mpi {

/// The processes of MPI_COMM_WORLD, on a duplicated communicator.
///
/// **Errors**: nn::ProcessLost if a process of this host has ended, if a process that is waited for
/// has finished, or if MPI reports either for another host; std::runtime_error with MPI's text if
/// MPI fails. After either, all processes must be ended: MPI may still write into memory for
/// messages that were to be received.
class MpiCommunicator final : public nn::Communicator {
 public:
  /// Collective. MPI must be initialised.
  MpiCommunicator();
  ~MpiCommunicator() override;
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  index_t rank() const override { return rank_; }
  index_t size() const override { return size_; }
  void send(index_t to, index_t tag, std::span<const std::byte> bytes) override;
  void receive(index_t from, index_t tag, std::span<std::byte> bytes) override;
  void progress() override;
  void wait() override;
  std::vector<std::string> all_gather(std::string_view mine) override;
  index_t bytes_sent() const override { return bytes_sent_; }

  /// The host and cores of each process, by rank.
  std::span<const Place> places() const { return places_; }

  /// Waits until all processes have called it, so that a process that has only finished is not
  /// taken for lost. The last call of a program. **Errors**: other processes continue, and wait for
  /// this process.
  void part();

  /// Ends all processes.
  [[noreturn]] void abort(int code);

 private:
  /// As an int for MPI. **Errors**: no such process or tag; more bytes than MPI takes in a message.
  int checked_size(const char* op, index_t other, index_t tag, std::size_t bytes) const;
  void add(MPI_Request request, index_t other, index_t expected_bytes);
  bool test_some();
  void finish(MPI_Request request, const char* what);
  template <class Done>
  void wait_until(const Done& done);
  std::vector<std::int64_t> gather_lengths(std::int64_t mine);
  void look_for_lost_processes() const;
  void look_for_ends();
  [[noreturn]] void fail_by_mpi(int error, const std::string& what) const;
  void check(int error, const std::string& what) const;

  MPI_Comm group_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 0;
  bool watches_ = true;
  bool has_seen_end_ = false;  // at the last check
  std::vector<Place> places_;
  std::vector<std::size_t> watched_;  // ranks of this host
  index_t bytes_sent_ = 0;

  // The messages in progress: requests_[i] with process others_[i]; expected_[i] is the length of a
  // message to be received, -1 for a message that is sent.
  std::vector<MPI_Request> requests_;
  std::vector<index_t> others_, expected_;
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
};

}  // namespace tessera::mpi
