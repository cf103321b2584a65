// Finds the part of a text that answers a question, by a pretrained model.
//
//   const models::QuestionAnswerer model = models::load_question_answerer("squad");
//   const auto results =
//       model({{.question = "Where did she live?", .context = "Ada Lovelace lived in London."}});
//   results[0][0];             // text "London", bytes 22 to 28, and a score
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tessera/models/classifier.h"
#include "tessera/models/hugging_face/text_reader.h"

namespace tessera::models {

/// A question, and the text that may hold its answer.
struct Question {
  std::string question;
  std::string context;
};

/// A part of the context that answers a question.
struct Answer {
  std::string text;  // the part of the context; empty: "there is no answer"
  double score;      // the sum over all spans of tokens that give this text, see QuestionAnswerer
  text::Span bytes;  // the position of the part in the context
};

/// The options of QuestionAnswerer.
struct AnsweringOptions {
  index_t top_k = 1;               // of answers per question
  index_t max_answer_tokens = 15;  // of an answer, before it is widened to whole words
  bool allow_no_answer = false;    // whether "there is no answer" is a possible answer
  index_t window = 384;            // tokens of a window at most, and at most the model's maximum
  index_t stride = 128;  // the tokens that neighbouring windows share; at most half a window
  TaskOptions task = {};
};

/// A token classifier and its tokenizer. Each token gets two scores: one as the first and one as
/// the last token of an answer.
/// **Source**: Devlin et al., "BERT", 2018, sections 4.2 and 4.3;
/// transformers.QuestionAnsweringPipeline.
struct QuestionAnswerer {
  TextReader reader;
  TokenClassifier model;

  /// The answers to each question, the best first. A long context is read in windows; each window
  /// gives its best 2 options.top_k + 10 spans of tokens, widened to whole words. The score of a
  /// span is the probability of its first token, times that of its last token. Spans of all windows
  /// with the same text, except for the case of letters, are one answer, with the sum of their
  /// scores and the place of the first. A question can have fewer than options.top_k answers;
  /// without allow_no_answer, it has none if its context has no token.
  /// **Errors**: as TextReader::encode_options, Tokenizer::encode_pair_windows and
  /// TextReader::each_row; a model that does not have 2 classes; a question that leaves no room for
  /// its context; options out of range.
  std::vector<std::vector<Answer>> operator()(text::ListOf<Question> questions,
                                              const AnsweringOptions& options = {}) const;

  /// The windows in which a question is read with its context. **Errors**: as above, except those
  /// of the model.
  std::vector<text::Encoding> windows(const Question& question,
                                      const AnsweringOptions& options = {}) const;
};

/// The question answerer in a folder. **Errors**: as load_text_classifier; padding on the left.
/// **Source**: transformers.AutoModelForQuestionAnswering.from_pretrained.
QuestionAnswerer load_question_answerer(const std::filesystem::path& folder);

}  // namespace tessera::models
