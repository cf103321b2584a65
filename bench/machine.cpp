#include "bench/machine.h"

#include <sys/utsname.h>

#include <algorithm>
#include <charconv>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <optional>
#include <set>
#include <string_view>
#include <thread>

#include "bench/build_info.h"
#include "examples/programs/cli.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/dispatch.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/version.h"

namespace tessera::bench {

namespace {

/// The first line of a small system file, empty if it does not exist.
std::string first_line(const std::filesystem::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return line;
}

/// The number at the start of `text`, 0 if there is none.
index_t leading_number(const std::string& text) {
  index_t value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

/// "32K" and "1M" in bytes.
index_t bytes_in(const std::string& text) {
  const index_t unit = text.ends_with('K') ? 1 << 10 : text.ends_with('M') ? 1 << 20 : 1;
  return leading_number(text) * unit;
}

/// The number of processors in a list such as "0-3,8".
index_t processors_in(const std::string& list) {
  index_t count = 0;
  for (std::size_t begin = 0; begin < list.size();) {
    const std::size_t end = std::min(list.find(',', begin), list.size());
    const std::string range = list.substr(begin, end - begin);
    const std::size_t minus = range.find('-');
    count += minus == std::string::npos
                 ? 1
                 : leading_number(range.substr(minus + 1)) - leading_number(range) + 1;
    begin = end + 1;
  }
  return count;
}

/// "0-2,5": the processors that this process may use.
std::string allowed_processors() {
  constexpr std::string_view kField = "Cpus_allowed_list:\t";
  std::ifstream status("/proc/self/status");
  for (std::string line; std::getline(status, line);) {
    if (line.starts_with(kField)) return line.substr(kField.size());
  }
  return "unknown";
}

std::string affinity() {
  std::string text = "cpus " + allowed_processors();
  for (const char* name : {"OMP_NUM_THREADS", "OMP_PROC_BIND", "OMP_PLACES", "OMP_WAIT_POLICY"}) {
    if (const char* value = std::getenv(name)) text += str_cat(", ", name, "=", value);
  }
  return text;
}

std::string os() {
  utsname names = {};
  if (uname(&names) != 0) return "unknown";
  return str_cat(names.sysname, ' ', names.release, ' ', names.machine);
}

struct Processor {
  std::string name = "unknown";
  index_t sockets = 1;
  index_t cores = 1;  // of all sockets; a core may run several threads
};

/// The contents of /proc/cpuinfo; if it has no core numbers, each logical processor is one core.
Processor processor() {
  std::ifstream file("/proc/cpuinfo");
  std::optional<std::string> name;
  std::set<std::string> sockets;
  std::set<std::string> cores;
  std::string socket;
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    const std::string value = colon == std::string::npos ? "" : line.substr(colon + 2);
    if (line.starts_with("model name") && !name && !value.empty()) name = value;
    if (line.starts_with("physical id")) sockets.insert(socket = value);
    if (line.starts_with("core id")) cores.insert(socket + '/' + value);
  }
  const auto or_one = [](std::size_t count) {
    return std::max<index_t>(static_cast<index_t>(count), 1);
  };
  Processor found;
  if (name) found.name = *name;
  found.sockets = or_one(sockets.size());
  found.cores = or_one(cores.empty() ? std::thread::hardware_concurrency() : cores.size());
  return found;
}

}  // namespace

std::vector<CacheLevel> caches() {
  std::vector<CacheLevel> found;
  for (int i = 0;; ++i) {
    const std::filesystem::path folder = str_cat("/sys/devices/system/cpu/cpu0/cache/index", i);
    std::error_code error;
    if (!std::filesystem::exists(folder, error)) break;
    found.push_back({leading_number(first_line(folder / "level")), first_line(folder / "type"),
                     bytes_in(first_line(folder / "size")),
                     processors_in(first_line(folder / "shared_cpu_list"))});
  }
  const auto lower = [](const CacheLevel& a, const CacheLevel& b) { return a.level < b.level; };
  std::stable_sort(found.begin(), found.end(), lower);
  return found;
}

std::vector<CacheLevel> data_caches() {
  std::vector<CacheLevel> found;
  for (const CacheLevel& cache : caches()) {
    if (cache.kind != "Instruction" && cache.bytes > 0) found.push_back(cache);
  }
  return found;
}

JsonObject machine_json() {
  const Processor found = processor();
  const auto cache = [](const CacheLevel& level) {
    return JsonObject({{"level", level.level},
                       {"kind", level.kind},
                       {"bytes", level.bytes},
                       {"shared_by", level.shared_by}});
  };
  const auto governor = first_line("/sys/devices/system/cpu/cpu0/cpufreq/scaling_governor");
  const auto load = std::strtod(first_line("/proc/loadavg").c_str(), nullptr);
  return {{"cpu", found.name},
          {"sockets", found.sockets},
          {"cores", found.cores},
          {"caches", json_list(caches(), cache)},
          {"isa", current_isa()},
          {"threads", thread_count()},
          {"compiler", build_compiler()},
          {"flags", build_flags()},
          {"commit", build_commit()},
          {"version", str_cat(kVersionMajor, '.', kVersionMinor, '.', kVersionPatch)},
          {"affinity", affinity()},
          {"governor", governor.empty() ? "unknown" : governor},
          {"load", load},
          {"os", os()},
          {"date", examples::utc_now("%Y-%m-%dT%H:%M:%SZ")}};
}

}  // namespace tessera::bench
