#include "tessera/models/text/detail/steps.h"

#include <cstddef>
#include <utility>

#include "tessera/models/text/detail/unicode.h"

namespace tessera::text {

namespace {

void add_steps(const Json& sequence, std::string_view key, std::vector<Json>& steps) {
  constexpr std::ptrdiff_t kMostChained = 100;
  for (const Json& step : sequence.at(key).items()) {
    if (step.is_object() && step.text("type", "") == "Sequence") {
      add_steps(step, key, steps);
      continue;
    }
    if (std::ssize(steps) == kMostChained) {
      sequence.fail("must have at most ", kMostChained, " steps, got more");
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

TextStep step_sequence(const Json& json, std::string_view key, TextStep (*read)(const Json&)) {
  std::vector<TextStep> steps;
  for (const Json& step : step_list(json, key)) steps.push_back(read(step));
  return [steps = std::move(steps)](AlignedText& text) {
    for (const TextStep& step : steps) {
      text.spend_step();
      step(text);
    }
  };
}

void prepend_to_words(std::string_view prefix, AlignedText& text,
                      const std::function<bool(Span)>& wanted) {
  const auto missing = [&](Span word) {
    const auto at = static_cast<std::size_t>(word.begin);
    return word.begin < word.end && !text.text.substr(at, prefix.size()).starts_with(prefix) &&
           wanted(word);
  };
  check_growth(text, std::ssize(text.text) + std::ssize(text.words) * std::ssize(prefix));
  AlignedWriter writer(text);
  for (Span& word : text.words) {
    const index_t begin = writer.size();
    if (missing(word)) {
      const char first = text.text[static_cast<std::size_t>(word.begin)];
      const auto size = static_cast<index_t>(utf8_size(first));
      writer.put(prefix, text.origin(word.begin, word.begin + size));
    }
    writer.copy(word.begin, word.end);
    word = {begin, writer.size()};
  }
  writer.replace(text);
}

}  // namespace tessera::text
