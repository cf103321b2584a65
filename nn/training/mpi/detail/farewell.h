// A launcher ends the survivors of a lost process by SIGTERM: one that is in the middle of a step then
// could not say which process was lost, and in which step. So where a process of this host has ended
// the signal waits for some seconds. (srun signals at once and lets 30 s pass before SIGKILL; Open
// MPI's mpirun signals after one second and kills after another; MPICH's kills at once.)
#pragma once

#include <span>

namespace tessera::mpi {

/// From now on, until end_farewells. A program that handles SIGTERM itself keeps its own handler.
void begin_farewells(std::span<const long> neighbours);
void end_farewells();

/// Whether the signal has come, and waits.
bool is_farewell();

}  // namespace tessera::mpi
