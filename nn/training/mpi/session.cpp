#include "tessera/nn/training/mpi/session.h"

#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>
#include <sched.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>
#include <thread>

#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/parallel.h"

namespace tessera::mpi {

namespace {

/// The length that a process sends to the others at the end of its session.
constexpr std::int64_t kEnd = -1;

/// The processes of MPI_COMM_WORLD. Errors of MPI end all processes, whatever the program has set
/// for MPI_COMM_WORLD.
class MpiCommunicator final : public nn::Communicator {
 public:
  MpiCommunicator() {
    MPI_Comm_dup(MPI_COMM_WORLD, &group_);
    MPI_Comm_set_errhandler(group_, MPI_ERRORS_ARE_FATAL);
    MPI_Comm_rank(group_, &rank_);
    MPI_Comm_size(group_, &size_);
  }
  ~MpiCommunicator() override { MPI_Comm_free(&group_); }
  MpiCommunicator(const MpiCommunicator&) = delete;
  MpiCommunicator& operator=(const MpiCommunicator&) = delete;

  index_t rank() const override { return rank_; }
  index_t size() const override { return size_; }

  std::vector<std::string> all_to_all(std::span<const std::string_view> parts) override {
    require(std::ssize(parts) == size_, "all_to_all", "parts must be ", size_, ", got ",
            parts.size());
    std::vector<std::int64_t> lengths;
    for (const std::string_view part : parts) lengths.push_back(std::ssize(part));
    lengths = exchange(lengths);
    const auto ended = std::ranges::find(lengths, kEnd);
    if (ended != lengths.end()) {
      throw std::runtime_error(
          str_cat("mpi::Session: all ranks must end their sessions together, got the end of rank ",
                  ended - lengths.begin(), ", for which this rank waits"));
    }
    std::vector<std::string> texts;
    for (const std::int64_t length : lengths) {
      texts.emplace_back(static_cast<std::size_t>(length), '\0');
    }
    std::vector<MPI_Request> requests;  // from here on nothing throws but a lack of memory
    for (int other = 0; other < size_; ++other) {
      for_each_block(texts[static_cast<std::size_t>(other)], [&](char* data, int size) {
        MPI_Irecv(data, size, MPI_BYTE, other, 0, group_, &requests.emplace_back());
      });
    }
    for (int other = 0; other < size_; ++other) {
      for_each_block(parts[static_cast<std::size_t>(other)], [&](const char* data, int size) {
        MPI_Isend(data, size, MPI_BYTE, other, 0, group_, &requests.emplace_back());
      });
    }
    MPI_Waitall(static_cast<int>(requests.size()), requests.data(), MPI_STATUSES_IGNORE);
    return texts;
  }

  /// Tells all others that this session ends; the rank of one that does not end its session, or -1.
  int end() {
    const auto lengths = exchange(std::vector<std::int64_t>(static_cast<std::size_t>(size_), kEnd));
    const auto other = std::ranges::find_if(lengths, [](auto length) { return length != kEnd; });
    return other == lengths.end() ? -1 : static_cast<int>(other - lengths.begin());
  }

 private:
  /// A number from each process for each process. All waits for slower processes are here. After a
  /// moment they sleep, because there may be more processes than cores.
  std::vector<std::int64_t> exchange(const std::vector<std::int64_t>& mine) const {
    using std::chrono::steady_clock, std::chrono::microseconds;
    std::vector<std::int64_t> theirs(mine.size());
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ialltoall(mine.data(), 1, MPI_INT64_T, theirs.data(), 1, MPI_INT64_T, group_, &request);
    const auto awake_until = steady_clock::now() + microseconds(500);
    for (int is_done = 0;;) {
      MPI_Test(&request, &is_done, MPI_STATUS_IGNORE);
      if (is_done != 0) return theirs;
      if (steady_clock::now() < awake_until) {
        std::this_thread::yield();
      } else {
        std::this_thread::sleep_for(microseconds(50));
      }
    }
  }

  /// Calls `f` with blocks of a text that MPI can count with an int.
  template <class Text, class F>
  static void for_each_block(Text& text, const F& f) {
    constexpr std::size_t kMost = std::size_t{1} << 30;
    for (std::size_t begin = 0; begin < text.size(); begin += kMost) {
      f(text.data() + begin, static_cast<int>(std::min(kMost, text.size() - begin)));
    }
  }

  MPI_Comm group_ = MPI_COMM_NULL;
  int rank_ = 0, size_ = 1;
};

/// The version of the MPI library: its first line, up to a comma.
std::string version() {
  std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text = {};
  int length = 0;
  MPI_Get_library_version(text.data(), &length);
  std::string line(text.data(), static_cast<std::size_t>(length));
  line.resize(std::min(line.size(), line.find_first_of(",\n")));
  std::ranges::replace(line, '\t', ' ');
  return line;
}

bool mpi_has_ended() {
  int has_ended = 0;
  MPI_Finalized(&has_ended);
  return has_ended != 0;
}

bool mpi_runs() {
  int has_begun = 0;
  MPI_Initialized(&has_begun);
  return has_begun != 0 && !mpi_has_ended();
}

void start_mpi() {
  if (mpi_has_ended()) {
    throw std::runtime_error(
        "mpi::Session: MPI must be started once per process, got a second start; make one Session, "
        "in main");
  }
  int level = 0, size = 1;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const index_t launched = nn::launched_processes();
  if (size == launched) return;
  const std::string text =
      str_cat("mpi::Session: MPI must see all ", launched, " processes that were started, got ",
              size, "; this program has ", version(),
              ": start it with the mpirun of that MPI, or with a plugin of srun that it supports "
              "(srun --mpi=list)");
  MPI_Finalize();
  throw std::runtime_error(text);
}

/// The share of this process in the cores of its host; all processes must call it.
int fair_threads() {
  const int mine = thread_count();
  const char* const set = std::getenv("OMP_NUM_THREADS");  // by the user, for each process
  int neighbours = 1, cores = mine;
  MPI_Comm host = MPI_COMM_NULL;
  MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &host);
  MPI_Comm_size(host, &neighbours);
#if defined(__linux__)
  // A launcher may have bound each process to different cores. A quota is one of all processes.
  cpu_set_t own, all;
  CPU_ZERO(&own);
  const bool is_known = sched_getaffinity(0, sizeof(own), &own) == 0;
  MPI_Allreduce(&own, &all, sizeof(own), MPI_BYTE, MPI_BOR, host);
  if (is_known && mine == CPU_COUNT(&own)) cores = CPU_COUNT(&all);
#endif
  MPI_Comm_free(&host);
  if (set != nullptr && std::atoi(set) > 0) return mine;
  return std::clamp(cores / neighbours, 1, mine);
}

void flush_all() {
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
}

}  // namespace

Session::Session() : threads_(thread_count()), exceptions_(std::uncaught_exceptions()) {
  const bool runs = mpi_runs();
  if (!runs && nn::launched_processes() == 1) {
    communicator_ = std::make_unique<nn::OneProcess>();
    return;
  }
  if (!runs) start_mpi();
  uses_mpi_ = true;
  ends_mpi_ = !runs;
  communicator_ = std::make_unique<MpiCommunicator>();
  threads_ = fair_threads();
}

Session::~Session() {
  if (!ends_mpi_) return;
  const index_t rank = communicator_->rank();
  // In one write, because launchers mix the output of processes.
  if (std::uncaught_exceptions() > exceptions_) {
    std::cerr << str_cat("rank ", rank,
                         " leaves its session with an exception, which ends all processes\n");
    end_all(1);
  }
  const int other = static_cast<MpiCommunicator&>(*communicator_).end();
  if (other >= 0) {
    std::cerr << str_cat("rank ", rank, " cannot end its session: rank ", other,
                         " must end its session too, but waits for this rank\n");
    end_all(1);
  }
  communicator_.reset();
  MPI_Finalize();
}

void Session::end_all(int code) {
  flush_all();
  if (!uses_mpi_) std::exit(code);
  MPI_Abort(MPI_COMM_WORLD, code);
  std::abort();  // MPI_Abort does not return
}

}  // namespace tessera::mpi
