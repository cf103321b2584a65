// The steps of a Sequence in a tokenizer.json.
#pragma once

#include <functional>
#include <string_view>
#include <utility>
#include <vector>

#include "tensor/io/json.h"

namespace tessera::text {

/// The steps in the list `key` of a Sequence, including those of Sequences inside it.
/// **Errors**: std::runtime_error that names the file and the place: more than a hundred.
std::vector<Json> step_list(const Json& sequence, std::string_view key);

/// A Sequence of normalizers or pre-tokenizers as one; `read` makes each step of the list `key`.
template <class Subject>
std::function<void(Subject&)> step_sequence(const Json& json, std::string_view key,
                                            std::function<void(Subject&)> (*read)(const Json&)) {
  std::vector<std::function<void(Subject&)>> steps;
  for (const Json& step : step_list(json, key)) steps.push_back(read(step));
  return [steps = std::move(steps)](Subject& subject) {
    for (const auto& step : steps) {
      subject.spend_step();
      step(subject);
    }
  };
}

}  // namespace tessera::text
