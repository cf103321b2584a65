// A launcher ends the survivors of a lost process by SIGTERM, at once: none could say which process
// was lost, and in which step. So the signal waits for a second where a process of this host has ended.
#pragma once

#include <span>

namespace tessera::mpi {

/// From now on, until end_farewells. A program that handles SIGTERM itself keeps its own handler.
void begin_farewells(std::span<const long> neighbours);
void end_farewells();

/// Whether the signal has come, and waits.
bool is_farewell();

}  // namespace tessera::mpi
