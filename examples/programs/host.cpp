#include "examples/programs/host.h"

#include <algorithm>
#include <array>
#include <ctime>
#include <fstream>
#include <optional>
#include <set>
#include <thread>

namespace tessera::examples {

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

std::string utc_now(const char* layout) {
  const std::time_t now = std::time(nullptr);
  std::tm parts = {};
  std::array<char, 64> text{};
  gmtime_r(&now, &parts);
  std::strftime(text.data(), text.size(), layout, &parts);
  return text.data();
}

}  // namespace tessera::examples
