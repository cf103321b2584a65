// Lines with two texts separated by a tab.
#pragma once

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "models/text/tokenizer.h"
#include "tensor/error.h"

namespace tessera::examples {

/// **Errors**: std::runtime_error that names the input and the line: not exactly one tab.
inline std::vector<text::TextPair> text_pairs(const std::vector<std::string>& lines,
                                              const std::string& input) {
  std::vector<text::TextPair> pairs;
  for (const std::string& line : lines) {
    const std::size_t tab = line.find('\t');
    if (tab == std::string::npos || line.find('\t', tab + 1) != std::string::npos) {
      fail_file(input, "line ", pairs.size() + 1,
                ": must be two texts with one tab between them, got ",
                std::ranges::count(line, '\t'), " tabs");
    }
    pairs.push_back({line.substr(0, tab), line.substr(tab + 1)});
  }
  return pairs;
}

}  // namespace tessera::examples
