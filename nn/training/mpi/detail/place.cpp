#include "nn/training/mpi/detail/place.h"

#include <sched.h>
#include <signal.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <sstream>

namespace tessera::mpi {

namespace {

/// The text of a file; empty if there is none.
std::string text_of(const std::string& file) {
  std::ifstream in(file);
  return {std::istreambuf_iterator<char>(in), {}};
}

std::string host_name() {
  std::array<char, 256> name = {};
  gethostname(name.data(), name.size() - 1);
  return name.data();
}

struct Status {
  char state = '?';
  std::string start;
};

/// Fields 3 and 22 of /proc/ID/stat (proc(5)). The second field, a name in brackets, may contain
/// brackets.
Status status_of(long id) {
  const std::string text = text_of("/proc/" + std::to_string(id) + "/stat");
  const std::size_t name_end = text.rfind(')');
  if (name_end == std::string::npos) return {};
  std::istringstream fields(text.substr(name_end + 1));
  Status status;
  fields >> status.state;
  for (int field = 4; field <= 22; ++field) fields >> status.start;
  return status;
}

std::vector<int> allowed_cpus() {
  std::vector<int> cpus;
#if defined(__linux__)
  cpu_set_t set;
  if (sched_getaffinity(0, sizeof(set), &set) != 0) return {};
  for (int cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
    if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
  }
#endif
  return cpus;
}

}  // namespace

Place this_place() {
  Place place;
  std::error_code none;
  place.host = host_name() + ' ' + text_of("/proc/sys/kernel/random/boot_id");
  std::erase(place.host, '\n');
  place.ids = std::filesystem::read_symlink("/proc/self/ns/pid", none).string();
  place.id = getpid();
  place.start = status_of(place.id).start;
  place.cpus = allowed_cpus();
  return place;
}

std::string to_text(const Place& place) {
  std::ostringstream out;
  out << place.host << '\n' << place.ids << '\n' << place.start << '\n' << place.id;
  for (const int cpu : place.cpus) out << ' ' << cpu;
  return out.str();
}

Place place_from_text(std::string_view text) {
  std::istringstream in{std::string(text)};
  Place place;
  std::getline(in, place.host);
  std::getline(in, place.ids);
  std::getline(in, place.start);
  in >> place.id;
  place.cpus.assign(std::istream_iterator<int>(in), {});
  return place;
}

bool has_ended(const Place& place) {
  if (kill(static_cast<pid_t>(place.id), 0) != 0 && errno == ESRCH) return true;
  const Status status = status_of(place.id);
  if (status.state == 'Z' || status.state == 'X') return true;
  return !status.start.empty() && status.start != place.start;
}

int fair_share(std::span<const Place> places, std::size_t mine, int alone) {
  const Place& me = places[mine];
  int neighbours = 0;
  for (const Place& place : places) neighbours += place.host == me.host ? 1 : 0;
  if (me.cpus.empty()) return std::max(1, alone / neighbours);

  double cores = 0;
  for (const int cpu : me.cpus) {
    int users = 0;
    for (const Place& place : places) {
      const bool has_it = std::ranges::binary_search(place.cpus, cpu);
      users += has_it && place.host == me.host ? 1 : 0;
    }
    cores += 1.0 / users;
  }
  constexpr double kRounding = 1e-6;  // so that three thirds are one
  const int share = static_cast<int>(cores + kRounding);
  const bool has_quota = alone < static_cast<int>(me.cpus.size());
  return std::max(1, has_quota ? std::min(share, alone / neighbours) : share);
}

}  // namespace tessera::mpi
