#include "nn/training/mpi/session.h"

#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <iostream>
#include <string>

#include "nn/training/communicator.h"
#include "nn/training/mpi/detail/mpi_communicator.h"
#include "tensor/error.h"
#include "tensor/kernels/parallel.h"

namespace tessera::mpi {

namespace {

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

/// Starts MPI if it does not run; returns whether it did.
bool start_mpi() {
  int runs = 0, has_run = 0;
  MPI_Initialized(&runs);
  MPI_Finalized(&has_run);
  if (has_run != 0) {
    throw std::runtime_error(
        "mpi::Session: MPI must be started once per process, got a second start; make one Session, "
        "in main");
  }
  if (runs != 0) return false;
  int level = 0;
  MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &level);
  int size = 1;
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  const index_t launched = nn::launched_processes();
  if (size != launched) {
    const std::string text =
        str_cat("mpi::Session: MPI must see all ", launched, " processes that were started, got ",
                size, "; this program has ", version(),
                ": start it with the mpirun of that MPI, or with a plugin of srun that it supports "
                "(srun --mpi=list)");
    MPI_Finalize();
    throw std::runtime_error(text);
  }
  return true;
}

bool runs_already() {
  int runs = 0, has_run = 0;
  MPI_Initialized(&runs);
  MPI_Finalized(&has_run);
  return runs != 0 && has_run == 0;
}

/// If the user has set a number of threads, it is for each process.
bool is_thread_count_set() {
  const char* const text = std::getenv("OMP_NUM_THREADS");
  return text != nullptr && std::atoi(text) > 0;
}

void flush_all() {
  std::cout.flush();
  std::cerr.flush();
  std::fflush(nullptr);
}

/// In one write, because launchers mix the output of processes.
void say(index_t rank, const std::string& text) {
  std::cerr << str_cat("rank ", rank, ' ', text, '\n');
}

}  // namespace

Session::Session() : threads_(thread_count()), exceptions_(std::uncaught_exceptions()) {
  if (nn::launched_processes() == 1 && !runs_already()) {
    communicator_ = std::make_unique<nn::OneProcess>();
    return;
  }
  ends_mpi_ = start_mpi();
  auto communicator = std::make_unique<MpiCommunicator>();
  mpi_ = communicator.get();
  communicator_ = std::move(communicator);
  if (!is_thread_count_set()) {
    threads_ = fair_share(mpi_->places(), static_cast<std::size_t>(mpi_->rank()), threads_);
  }
}

Session::~Session() {
  if (mpi_ == nullptr || !ends_mpi_) return;
  if (std::uncaught_exceptions() > exceptions_) {
    say(mpi_->rank(), "leaves its session with an exception, which ends all processes");
    end_all(1);
  }
  try {
    mpi_->part();
  } catch (const std::exception& error) {
    say(mpi_->rank(), str_cat("cannot end its session: ", error.what()));
    end_all(1);
  }
  communicator_.reset();
  MPI_Finalize();
}

void Session::end_all(int code) {
  flush_all();
  if (mpi_ == nullptr) std::exit(code);
  mpi_->abort(code);
}

}  // namespace tessera::mpi
