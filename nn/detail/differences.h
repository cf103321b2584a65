// Collects what differs between two states, for an error message.
#pragma once

#include <sstream>
#include <string>

#include "tensor/error.h"

namespace tessera::nn {

/// Lists at most thirty differences, a line each, then how many more there are: a wrong file
/// differs everywhere. No text: no difference.
class Differences {
 public:
  template <class... Parts>
  void add(const Parts&... parts) {
    if (++count_ <= kMostListed) ((text_ << "\n  ") << ... << parts);
  }

  std::string text() const {
    if (count_ <= kMostListed) return text_.str();
    return str_cat(text_.str(), "\n  and ", count_ - kMostListed, " more");
  }

 private:
  static constexpr int kMostListed = 30;
  std::ostringstream text_;
  int count_ = 0;
};

}  // namespace tessera::nn
