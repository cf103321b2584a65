// The host and cores of a process, which it reports to the others.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace tessera::mpi {

struct Place {
  std::string host;  // its name and the id of the boot: two machines may have one name
  std::string ids;   // the namespace of process ids: a container may have its own
  long id = 0;
  std::string start;      // the start time, which distinguishes a later process with the same id
  std::vector<int> cpus;  // the CPUs that the process may run on; empty: unknown
};

Place this_place();

/// The text that other processes read.
std::string to_text(const Place& place);
Place place_from_text(std::string_view text);

/// Whether a process that sees the same ids as this one has ended. A zombie, which waits for its
/// parent to read its status, has ended.
bool has_ended(const Place& place);

/// The number of threads for process `mine`, which would use `alone` threads if it were the only
/// process: its CPUs, each divided by the number of processes on this host that use it, rounded
/// down; at least 1. If `alone` is less than its CPUs, there is a CPU quota, which all processes of
/// the host share.
int fair_share(std::span<const Place> places, std::size_t mine, int alone);

}  // namespace tessera::mpi
