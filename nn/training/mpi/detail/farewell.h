// If a process is lost, the launcher ends the others by SIGTERM. A process in the middle of a step
// then could not report which process was lost, and in which step. So if a process of this host has
// ended, the signal is delayed by some seconds. (srun signals at once and sends SIGKILL after 30 s;
// Open MPI's mpirun signals after one second and kills after another; MPICH's kills at once.)
#pragma once

#include <span>

namespace tessera::mpi {

/// Delays the signal until end_farewells. A program that handles SIGTERM itself keeps its own
/// handler.
void begin_farewells(std::span<const long> neighbours);
void end_farewells();

/// Whether the signal has been received and is delayed.
bool is_farewell();

}  // namespace tessera::mpi
