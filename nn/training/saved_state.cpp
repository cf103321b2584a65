#include "nn/training/saved_state.h"

#include <algorithm>
#include <set>

#include "nn/differences.h"
#include "tensor/error.h"

namespace tessera::nn {

namespace {

template <class T>
const T* find(const std::vector<std::pair<std::string, T>>& entries, const std::string& name) {
  const auto found = std::find_if(entries.begin(), entries.end(),
                                  [&](const auto& entry) { return entry.first == name; });
  return found == entries.end() ? nullptr : &found->second;
}

template <class T>
std::set<std::string> names(const std::vector<std::pair<std::string, T>>& entries) {
  std::set<std::string> result;
  for (const auto& [name, value] : entries) result.insert(name);
  return result;
}

template <class T>
void compare_names(const std::vector<std::pair<std::string, T>>& wanted,
                   const std::vector<std::pair<std::string, T>>& given, Differences& differences) {
  const std::set<std::string> want = names(wanted);
  const std::set<std::string> have = names(given);
  for (const std::string& name : want) {
    if (!have.contains(name)) differences.add("missing: ", name);
  }
  for (const std::string& name : have) {
    if (!want.contains(name)) differences.add("unexpected: ", name);
  }
}

}  // namespace

const Tensor* SavedState::find_tensor(const std::string& name) const {
  return find(tensors, name);
}

const double* SavedState::find_number(const std::string& name) const {
  return find(numbers, name);
}

void check_saved_state(const char* op, const SavedState& wanted, const SavedState& given) {
  Differences differences;
  compare_names(wanted.tensors, given.tensors, differences);
  compare_names(wanted.numbers, given.numbers, differences);
  for (const auto& [name, tensor] : given.tensors) {
    const Tensor* want = wanted.find_tensor(name);
    if (want == nullptr) continue;
    if (!tensor.defined() || !(tensor.shape() == want->shape())) {
      differences.add(name, " should have shape ", want->shape(), ", not ",
                      tensor.defined() ? format(tensor.shape()) : "none");
    }
  }
  const std::string text = differences.text();
  require(text.empty(), op, "the state does not fit:", text);
}

}  // namespace tessera::nn
