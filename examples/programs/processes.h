// The processes that run this program together: `mpirun -n 4 train_reverse ...` starts four.
//
//   const nn::Share mine = nn::share_of(std::ssize(lines), examples::processes());
//   std::cout << examples::gather_in_order(answers(lines, mine));
//
// All run the same code on the same options, and only rank 0 has output: the others' standard
// output goes to /dev/null, and they write no files. Started without a launcher, a program is one process, for
// which all of this does nothing.
#pragma once

#include <cstddef>
#include <functional>
#include <span>
#include <string>

#include "nn/training/communicator.h"

namespace tessera::examples {

/// All processes that were started together with this one, which is itself one of them.
nn::Communicator& processes();

/// Whether this process is the one that prints and writes files, rank 0. What all must compute
/// together, as Trainer::state(), all compute; then this one writes it.
inline bool leaves_traces() {
  return processes().rank() == 0;
}

/// The threads for this process where --threads is absent: its share of its host's cores; 0, the
/// library's default, where that is all that it may run on.
int default_threads();

/// The result of `read`, which only rank 0 calls, for all processes: mpirun gives standard input only
/// to rank 0. All processes call it. **Errors**: those of `read`, at all processes.
std::string from_first(const std::function<std::string()>& read);

/// The bytes of all processes, one after another by rank, at rank 0. There `place` is called with
/// their number and returns memory for them, into which it has put this process's own. All processes
/// call it.
void gather_at_first(std::span<const std::byte> mine,
                     const std::function<std::span<std::byte>(std::size_t)>& place);

/// The texts of all processes, one after another by rank, at rank 0; elsewhere nothing. All
/// processes call it.
std::string gather_in_order(std::string mine);

}  // namespace tessera::examples
