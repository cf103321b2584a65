// The processes that run this program together: `mpirun -n 4 train_reverse ...` starts four.
//
//   const nn::Share mine = nn::share_of(std::ssize(lines), examples::processes());
//   std::cout << examples::gather_in_order(answers(lines, mine));
//
// All processes run the same code with the same options, and only rank 0 has output: the others'
// standard output is /dev/null, and they write no files. Started without a launcher, a program is
// one process, and these functions do nothing.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "nn/training/communicator.h"

namespace tessera::examples {

/// All processes that were started together with this one, including itself.
nn::Communicator& processes();

/// Whether this process prints and writes files: rank 0. Functions that all processes must call,
/// such as Trainer::state(), are called by all; then rank 0 writes the result.
inline bool leaves_traces() {
  return processes().rank() == 0;
}

/// The default of --threads for this process: its share of its host's cores; 0, the library's
/// default, if it may use all cores that it can run on.
int default_threads();

/// The result of `read` for all processes. Only rank 0 calls `read`, because mpirun gives standard
/// input only to rank 0. All processes must call this function. **Errors**: those of `read`, at
/// rank 0.
std::string from_first(const std::function<std::string()>& read);

/// Gathers the bytes of all processes at rank 0, one after the other by rank. There, `place` is
/// called with their number, and returns memory for them. All processes must call it.
void gather_at_first(std::span<const std::byte> mine,
                     const std::function<std::span<std::byte>(std::size_t)>& place);

/// The texts of all processes at rank 0, one after the other by rank; empty in other processes. All
/// processes must call it.
std::string gather_in_order(std::string mine);

}  // namespace tessera::examples
