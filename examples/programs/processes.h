// The processes that run this program together: `mpirun -n 4 train_reverse ...` starts four.
//
// All processes run the same code with the same options, and only rank 0 has output: the others'
// standard output is /dev/null, and they write no files. Started without a launcher, a program is
// one process, and these functions do nothing.
#pragma once

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

}  // namespace tessera::examples
