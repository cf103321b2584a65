#include "models/text/detail/steps.h"

#include <cstddef>

#include "models/text/detail/unicode.h"

namespace tessera::text {

namespace {

void add_steps(const Json& sequence, std::string_view key, std::vector<Json>& steps) {
  constexpr std::ptrdiff_t kMostSteps = 100;
  for (const Json& step : sequence.at(key).items()) {
    if (step.is_object() && step.text("type", "") == "Sequence") {
      add_steps(step, key, steps);
      continue;
    }
    if (std::ssize(steps) == kMostSteps) {
      sequence.fail("must have at most ", kMostSteps, " steps, got more");
    }
    steps.push_back(step);
  }
}

}  // namespace

std::vector<Json> step_list(const Json& sequence, std::string_view key) {
  std::vector<Json> steps;
  add_steps(sequence, key, steps);
  return steps;
}

void prepend_to_words(std::string_view prefix, Words& words,
                      const std::function<bool(Span)>& wanted) {
  const auto missing = [&](Span word) {
    const auto at = static_cast<std::size_t>(word.begin);
    return word.begin < word.end &&
           !words.text.text.substr(at, prefix.size()).starts_with(prefix) && wanted(word);
  };
  check_growth(words.text,
               std::ssize(words.text.text) + std::ssize(words.spans) * std::ssize(prefix));
  AlignedWriter writer(words.text);
  for (Span& word : words.spans) {
    const index_t begin = writer.size();
    if (missing(word)) {
      const char first = words.text.text[static_cast<std::size_t>(word.begin)];
      const auto size = static_cast<index_t>(utf8_size(first));
      writer.put(prefix, words.text.origin(word.begin, word.begin + size));
    }
    writer.copy(word.begin, word.end);
    word = {begin, writer.size()};
  }
  writer.replace(words.text);
}

}  // namespace tessera::text
