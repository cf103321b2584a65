#include "nn/observer.h"

#include <utility>

#include "tensor/error.h"

namespace tessera::nn {

Observer::Observer(See see) : see_(std::move(see)), previous_(active_observer) {
  require(static_cast<bool>(see_), "Observer", "see must be a function, got an empty one");
  active_observer = this;
}

Observer::~Observer() {
  active_observer = previous_;
}

void observe(const char* name, const Tensor& y) {
  Observer* const observer = active_observer;
  if (observer == nullptr) return;
  std::string full = observer->path_ + name;
  if (full.empty()) full = "output";
  if (full.back() == '.') full.pop_back();
  observer->see_(full, y.detach());
}

void ObservedPath::enter(const std::string& part) {
  observer_ = active_observer;
  before_ = observer_->path_.size();
  observer_->path_ += part + '.';
}

}  // namespace tessera::nn
