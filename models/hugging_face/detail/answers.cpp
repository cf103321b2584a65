#include "tessera/models/hugging_face/detail/answers.h"

#include <algorithm>
#include <cmath>

#include "tessera/tensor/error.h"

namespace tessera::models {

namespace {

constexpr double kHidden = -10000;

/// Softmax over a window of the scores in the context and of the first token.
std::vector<double> probabilities(std::span<const float> scores,
                                  const std::vector<bool>& in_context) {
  std::vector<double> result(scores.begin(), scores.end());
  for (std::size_t i = 1; i < result.size(); ++i) {
    if (!in_context[i]) result[i] = kHidden;
  }
  const double largest = *std::ranges::max_element(result);
  double sum = 0;
  for (double& value : result) sum += value = std::exp(value - largest);
  for (double& value : result) value /= sum;
  return result;
}

}  // namespace

WindowAnswers find_answers(std::span<const float> start, std::span<const float> end,
                           const std::vector<bool>& in_context, const AnswerSpanOptions& options) {
  const std::size_t count = in_context.size();
  require(start.size() == count && end.size() == count && count > 0, "find_answers",
          "start, end and in_context must have the same size, at least 1, got ", start.size(), ", ",
          end.size(), " and ", count);
  require(options.count >= 1, "find_answers", "count must be at least 1, got ", options.count);
  require(options.max_tokens >= 1, "find_answers", "max_tokens must be at least 1, got ",
          options.max_tokens);
  const std::vector<double> s = probabilities(start, in_context);
  const std::vector<double> e = probabilities(end, in_context);
  WindowAnswers result = {.spans = {}, .null_score = s[0] * e[0]};
  for (std::size_t i = 1; i < count; ++i) {
    if (!in_context[i]) continue;
    const std::size_t stop = std::min(count - i, static_cast<std::size_t>(options.max_tokens)) + i;
    for (std::size_t j = i; j < stop; ++j) {
      if (!in_context[j] || std::isnan(s[i] * e[j])) continue;
      result.spans.push_back({static_cast<index_t>(i), static_cast<index_t>(j), s[i] * e[j]});
    }
  }
  std::ranges::stable_sort(
      result.spans, [](const AnswerSpan& a, const AnswerSpan& b) { return a.score > b.score; });
  if (std::ssize(result.spans) > options.count) {
    result.spans.erase(result.spans.begin() + options.count, result.spans.end());
  }
  return result;
}

text::Span bytes_of_words(const text::Encoding& window, index_t first, index_t last) {
  const auto count = std::ssize(window.ids);
  require(0 <= first && first <= last && last < count && std::ssize(window.word_ids) == count,
          "bytes_of_words", "tokens must be inside the window of ", count, " tokens, got ", first,
          " to ", last);
  const auto same_word = [&](index_t a, index_t b) {
    const auto i = static_cast<std::size_t>(a);
    const auto j = static_cast<std::size_t>(b);
    return window.word_ids[i] != text::kNoText && window.word_ids[i] == window.word_ids[j] &&
           window.sequence_ids[i] == window.sequence_ids[j];
  };
  while (first > 0 && same_word(first - 1, first)) --first;
  while (last + 1 < count && same_word(last, last + 1)) ++last;
  return {window.offsets[static_cast<std::size_t>(first)].begin,
          window.offsets[static_cast<std::size_t>(last)].end};
}

}  // namespace tessera::models
