#include "nn/saved_state.h"

#include <algorithm>
#include <set>
#include <sstream>

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

/// The differences of two states, a line each.
class Differences {
 public:
  template <class T>
  void compare_names(const std::vector<std::pair<std::string, T>>& wanted,
                     const std::vector<std::pair<std::string, T>>& given) {
    const std::set<std::string> want = names(wanted);
    const std::set<std::string> have = names(given);
    for (const std::string& name : want) {
      if (!have.contains(name)) add("missing: ", name);
    }
    for (const std::string& name : have) {
      if (!want.contains(name)) add("unexpected: ", name);
    }
  }

  template <class... Parts>
  void add(const Parts&... parts) {
    if (++count_ <= kMostListed) ((text_ << "\n  ") << ... << parts);
  }

  std::string text() const {
    if (count_ <= kMostListed) return text_.str();
    return format(text_.str(), "\n  and ", count_ - kMostListed, " more");
  }

 private:
  static constexpr int kMostListed = 30;
  std::ostringstream text_;
  int count_ = 0;
};

}  // namespace

const Tensor* SavedState::find_tensor(const std::string& name) const {
  return find(tensors, name);
}

const double* SavedState::find_number(const std::string& name) const {
  return find(numbers, name);
}

void check_saved_state(const char* op, const SavedState& wanted, const SavedState& given) {
  Differences differences;
  differences.compare_names(wanted.tensors, given.tensors);
  differences.compare_names(wanted.numbers, given.numbers);
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
