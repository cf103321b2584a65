// Collects the differences of two states for an error message.
#pragma once

#include <sstream>
#include <string>

#include "tessera/tensor/error.h"

namespace tessera::nn {

/// Lists at most thirty differences, one per line, then the number of the others: in a wrong file
/// everything differs. Without differences the text is empty.
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
