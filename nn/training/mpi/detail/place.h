// Where a process runs, as it reports to the others: who shares its host, and its cores.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::mpi {

struct Place {
  std::string host;  // its name, and the boot: two machines may have one name
  std::string ids;   // the namespace of process ids: a container may have its own
  long id = 0;
  std::string start;      // when it began, so that a later process of the same id is another
  std::vector<int> cpus;  // that it may run on; empty: not known
};

Place this_place();

/// For other processes to read.
std::string to_text(const Place& place);
Place place_from_text(std::string_view text);

/// Whether a process that sees the same ids as this one has ended. One that waits for its parent to
/// take note of its end (a zombie) has.
bool has_ended(const Place& place);

/// The threads for process `mine`, which alone would take `alone`: its CPUs, each divided by the
/// number of processes on this host that have it, rounded down; at least 1. Where `alone` is less
/// than its CPUs there is a quota of time, which all processes of the host share.
int fair_share(std::span<const Place> places, std::size_t mine, int alone);

}  // namespace tessera::mpi
