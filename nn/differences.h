// What is wrong with a state that somebody wants to load.
#pragma once

#include <sstream>
#include <string>

#include "tensor/error.h"

namespace tessera::nn {

/// The differences of two states, a line each: the first thirty, because a wrong file differs
/// everywhere, and how many more there are.
class Differences {
 public:
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

}  // namespace tessera::nn
