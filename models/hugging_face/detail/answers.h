// Finds the part of a text that answers a question, from two scores for each token.
#pragma once

#include <span>
#include <vector>

#include "tessera/models/text/tokenizer.h"

namespace tessera::models {

/// The tokens of a window from `first` to `last`, both included.
struct AnswerSpan {
  index_t first;
  index_t last;
  double score;  // the probability that the answer begins and ends there
};

struct WindowAnswers {
  std::vector<AnswerSpan> spans;  // the best first; of equal ones the one that begins first
  double null_score;              // the probability that the window holds no answer
};

struct AnswerSpanOptions {
  index_t count = 1;        // of spans
  index_t max_tokens = 15;  // of a span
};

/// The best answers in one window: a question, then a part of its context.
/// Scores outside the context count as -10000, except that of the window's first token, the [CLS],
/// which means that there is no answer here. With s and e, the softmax of `start` and `end` over
/// the window: null_score = s[0] e[0], and the score of the tokens i to j is s[i] e[j].
///
/// **Shapes**: start, end and in_context have one entry per token.
/// **Errors**: different lengths; a count or max_tokens below 1.
/// **Source**: Devlin et al., "BERT", 2018, sections 4.2 and 4.3;
/// transformers.QuestionAnsweringPipeline.
WindowAnswers find_answers(std::span<const float> start, std::span<const float> end,
                           const std::vector<bool>& in_context,
                           const AnswerSpanOptions& options = {});

/// The bytes of the tokens from `first` to `last`, widened to whole words of the window. A token
/// without a word is not widened.
text::Span bytes_of_words(const text::Encoding& window, index_t first, index_t last);

}  // namespace tessera::models
