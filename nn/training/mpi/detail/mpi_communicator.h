// nn::Communicator by MPI.
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

/// The processes of MPI_COMM_WORLD, on a communicator of its own.
///
/// **Errors**: nn::ProcessLost where a process of this host has ended, where one that is waited for
/// has come to its end, or where MPI says so of another; std::runtime_error where MPI fails, with its
/// text. After either nothing but ending all processes is possible: MPI may still write where messages
/// were to be received.
class MpiCommunicator final : public nn::Communicator {
 public:
  /// Collective. MPI runs.
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

  /// Waits until all have called it, so that none is taken for lost that has only finished. A
  /// program's last call. **Errors**: others continue, and wait for this process.
  void part();

  /// Ends all processes.
  [[noreturn]] void abort(int code);

 private:
  /// As MPI counts. **Errors**: no such process or tag; more bytes than MPI takes in a message.
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
  bool has_seen_end_ = false;  // when it last looked
  std::vector<Place> places_;
  std::vector<std::size_t> watched_;  // ranks of this host
  index_t bytes_sent_ = 0;

  // What was begun: requests_[i] with process others_[i]; expected_[i] is the length of a message to
  // be received, -1 for one that is sent.
  std::vector<MPI_Request> requests_;
  std::vector<index_t> others_, expected_;
  std::vector<int> indices_;
  std::vector<MPI_Status> statuses_;
};

}  // namespace tessera::mpi
