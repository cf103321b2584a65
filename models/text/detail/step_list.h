// The steps of a Sequence in a tokenizer.json.
#pragma once

#include <memory>
#include <string_view>
#include <vector>

#include "tensor/io/json.h"

namespace tessera::text {

/// The steps in the list `key` of a Sequence, including those of Sequences inside it.
/// **Errors**: std::runtime_error that names the file and the place: more than a hundred.
std::vector<Json> step_list(const Json& sequence, std::string_view key);

/// A Sequence of normalizers or pre-tokenizers, which is itself a Step.
template <class Step>
class StepSequence final : public Step {
 public:
  /// `read` makes each step of the list `key`.
  StepSequence(const Json& json, std::string_view key, std::unique_ptr<Step> (*read)(const Json&)) {
    for (const Json& step : step_list(json, key)) steps_.push_back(read(step));
  }
  void apply(typename Step::Subject& subject) const override {
    for (const auto& step : steps_) {
      subject.spend_step();
      step->apply(subject);
    }
  }

 private:
  std::vector<std::unique_ptr<Step>> steps_;
};

}  // namespace tessera::text
