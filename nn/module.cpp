#include "nn/module.h"

#include <algorithm>
#include <iomanip>
#include <sstream>
#include <string>

#include "nn/differences.h"
#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::nn {

namespace {

/// A name that somebody else may have chosen, fit for an error message.
std::string plain(const std::string& name) {
  const std::string quoted = printable(name);
  return quoted.substr(1, quoted.size() - 2);
}

}  // namespace

std::string state_differences(const StateDict& wanted, const StateDict& given) {
  Differences differences;
  for (const auto& [name, tensor] : wanted) {
    const auto found = given.find(name);
    if (found == given.end()) {
      differences.add("missing: ", name, ' ', tensor.shape());
    } else if (!(found->second.shape() == tensor.shape())) {
      differences.add(name, " should have shape ", tensor.shape(), ", not ", found->second.shape());
    }
  }
  for (const auto& [name, tensor] : given) {
    if (!wanted.contains(name)) differences.add("unexpected: ", plain(name), ' ', tensor.shape());
  }
  return differences.text();
}

void check_state_dict(const StateDict& wanted, const StateDict& given) {
  const std::string text = state_differences(wanted, given);
  require(text.empty(), "load_state_dict", "the state does not fit the module:", text);
}

std::string describe(const StateDict& state) {
  std::size_t width = 5;
  index_t total = 0;
  for (const auto& [name, tensor] : state) {
    width = std::max(width, name.size());
    total += tensor.count();
  }
  std::ostringstream out;
  const auto line = [&](const std::string& name, const std::string& shape, index_t count) {
    out << std::left << std::setw(static_cast<int>(width) + 2) << name << std::setw(16) << shape
        << std::right << std::setw(12) << count << '\n';
  };
  for (const auto& [name, tensor] : state) line(name, format(tensor.shape()), tensor.count());
  line("total", "", total);
  return out.str();
}

}  // namespace tessera::nn
