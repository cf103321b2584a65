// Finds the part of a text that answers a question, by a pretrained model.
//
//   const models::QuestionAnswerer model = models::load_question_answerer("squad");
//   const std::vector<models::Question> questions = {
//       {.question = "Where did she live?", .context = "Ada Lovelace lived in London."}};
//   const auto results = model(questions);
//   results[0][0];             // text "London", bytes 22 to 28, and a score
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "models/classifier.h"
#include "models/hugging_face/task.h"

namespace tessera::models {

/// A question, and the text that may hold its answer.
struct Question {
  std::string question;
  std::string context;
};

/// A part of the context that answers a question.
struct Answer {
  std::string text;  // of the context; empty: no answer
  double score;
  text::Span bytes;  // of the context
};

/// The options of QuestionAnswerer.
struct AnsweringOptions {
  index_t count = 1;  // of answers per question
  index_t max_answer_tokens = 15;
  bool allow_no_answer = false;  // whether "there is no answer" is a possible answer
  index_t window = 384;          // in tokens, if the model's maximum allows it
  index_t stride = 128;  // the tokens that neighbouring windows share, at most half a window
  TaskOptions task = {};
};

/// A token classifier with two scores, for the first and the last token of an answer, and its
/// tokenizer.
/// **Source**: Devlin et al., "BERT", 2018, sections 4.2 and 4.3;
/// transformers.QuestionAnsweringPipeline.
struct QuestionAnswerer {
  TextReader reader;
  TokenClassifier model;

  /// The answers to each question, the best first. A long context is read in windows; each window
  /// gives its best spans of tokens, widened to whole words. There are fewer answers than
  /// options.count if a context has fewer, and no answers if a context has no token.
  /// **Errors**: as Tokenizer::encode_pair_windows; a question that leaves no room for its context.
  std::vector<std::vector<Answer>> operator()(std::span<const Question> questions,
                                              const AnsweringOptions& options = {}) const;

  /// The windows in which a question is read with its context. **Errors**: as above.
  std::vector<text::Encoding> windows(const Question& question,
                                      const AnsweringOptions& options = {}) const;
};

/// The question answerer in a folder. **Errors**: as load_text_classifier.
QuestionAnswerer load_question_answerer(const std::filesystem::path& folder);

}  // namespace tessera::models
