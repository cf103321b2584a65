#include "tessera/models/hugging_face/question_answerer.h"

#include <algorithm>
#include <limits>
#include <unordered_map>
#include <utility>

#include "tessera/models/hugging_face/detail/answers.h"
#include "tessera/models/hugging_face/detail/heads.h"
#include "tessera/models/text/detail/unicode.h"
#include "tessera/models/text/utf8.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/io/file.h"

namespace tessera::models {

namespace {

constexpr const char* kAnswererOp = "QuestionAnswerer";
constexpr index_t kContext = 1;  // the second text of each pair
constexpr index_t kEnds = 2;     // the classes of a model: the first and the last token

void check(const AnsweringOptions& options) {
  require(options.top_k >= 1, kAnswererOp, "top_k must be at least 1, got ", options.top_k);
  require(options.max_answer_tokens >= 1, kAnswererOp, "max_answer_tokens must be at least 1, got ",
          options.max_answer_tokens);
  require(options.window >= 1, kAnswererOp, "window must be at least 1, got ", options.window);
  require(options.stride >= 0, kAnswererOp, "stride must be at least 0, got ", options.stride);
}

/// Splits a question with its context into windows, each with a part of the context.
std::vector<text::Encoding> windows_of(const Question& question, const std::string& name,
                                       const TextReader& reader, const AnsweringOptions& options) {
  text::EncodeOptions encode = reader.encode_options(options.task);
  const text::Tokenizer& tokenizer = *reader.tokenizer;
  encode.max_length =
      encode.max_length == 0 ? options.window : std::min(encode.max_length, options.window);
  encode.truncation = text::Truncation::kOnlySecond;
  encode.truncation_side = text::Side::kRight;
  const index_t asked = std::ssize(
      tokenizer
          .encode(question.question, {.add_special_tokens = false,
                                      .split_special_tokens = encode.split_special_tokens})
          .ids);
  const index_t added = std::ranges::count_if(
      tokenizer.frame().pair, [](const auto& part) { return part.text == text::kNoText; });
  const index_t room = encode.max_length - added - asked;
  require(room >= 1, kAnswererOp, "the question of ", name, " must leave room for its context in ",
          encode.max_length, " tokens, got ", asked, " tokens and ", added, " special ones");
  encode.stride = std::min(options.stride, encode.max_length / 2);
  if (encode.stride >= room) encode.stride = room / 2;
  return tokenizer.encode_pair_windows(question.question, question.context, encode);
}

/// The best spans of a window, given two scores per token in `scores`.
WindowAnswers answers_in(const text::Encoding& window, std::span<const float> scores,
                         const AnswerSpanOptions& options) {
  std::vector<float> start;
  std::vector<float> end;
  std::vector<bool> in_context;
  for (std::size_t t = 0; t < window.ids.size(); ++t) {
    start.push_back(scores[2 * t]);
    end.push_back(scores[2 * t + 1]);
    in_context.push_back(window.sequence_ids[t] == kContext);
  }
  return find_answers(start, end, in_context, options);
}

/// A key of texts that differ at most in case. The final sigma is an ordinary one, because Python
/// chooses between the two by the place of the capital.
std::string without_case(std::string_view text) {
  constexpr char32_t kSigma = 0x3c3, kFinalSigma = 0x3c2;
  std::string key;
  for (std::size_t at = 0; at < text.size(); at += text::utf8_size(text[at])) {
    for (const char32_t code : text::lower_case(text::code_point_at(text, at))) {
      text::append_utf8(code == kFinalSigma ? kSigma : code, key);
    }
  }
  return key;
}

/// Collects the answers to one question from its windows. Equal answers are one: it has the place
/// of the first, and the sum of the scores.
class Collected {
 public:
  explicit Collected(const std::string& context) : context_(context) {}

  void add(const text::Encoding& window, const WindowAnswers& found) {
    null_score_ = std::min(null_score_, found.null_score);
    for (const AnswerSpan& span : found.spans) {
      const text::Span bytes = bytes_of_words(window, span.first, span.last);
      const std::string_view part = text::text_at(context_, bytes);
      const auto [place, is_new] = places_.emplace(without_case(part), answers_.size());
      if (is_new) {
        answers_.push_back({std::string(part), span.score, bytes});
      } else {
        answers_[place->second].score += span.score;
      }
    }
  }

  /// The best answers.
  std::vector<Answer> best(const AnsweringOptions& options) {
    if (options.allow_no_answer) answers_.push_back({"", null_score_, {}});
    std::ranges::stable_sort(answers_,
                             [](const Answer& a, const Answer& b) { return a.score > b.score; });
    if (std::ssize(answers_) > options.top_k) {
      answers_.erase(answers_.begin() + options.top_k, answers_.end());
    }
    return std::move(answers_);
  }

 private:
  const std::string& context_;
  std::vector<Answer> answers_;
  std::unordered_map<std::string, std::size_t> places_;  // of answers, by without_case
  double null_score_ = std::numeric_limits<double>::infinity();
};

}  // namespace

std::vector<std::vector<Answer>> QuestionAnswerer::operator()(
    text::ListOf<Question> questions, const AnsweringOptions& options) const {
  check(options);
  const index_t classes = model.classifier.weight.size(0);
  require(classes == kEnds, kAnswererOp, "model must have ", kEnds, " classes, got ", classes);
  const auto name = [&](index_t i) { return text_name(options.task.name, i); };
  std::vector<text::Encoding> windows;
  std::vector<std::size_t> question_of;
  for (std::size_t i = 0; i < questions.size(); ++i) {
    for (text::Encoding& window :
         windows_of(questions[i], name(static_cast<index_t>(i)), reader, options)) {
      windows.push_back(std::move(window));
      question_of.push_back(i);
    }
  }
  // Several spans may widen to the same words.
  const index_t count = std::min(options.top_k, index_t{1} << 32) * 2 + 10;
  std::vector<WindowAnswers> found(windows.size());
  TaskOptions task = options.task;
  task.name = [&](index_t window) {
    return name(static_cast<index_t>(question_of[static_cast<std::size_t>(window)]));
  };
  reader.each_row(
      windows, task, [&](const Tokens& tokens) { return model(tokens); },
      [&](index_t window, std::span<const float> row) {
        const auto n = static_cast<std::size_t>(window);
        found[n] =
            answers_in(windows[n], row, {.count = count, .max_tokens = options.max_answer_tokens});
      });
  std::vector<Collected> collected;
  for (const Question& question : questions) collected.emplace_back(question.context);
  for (std::size_t n = 0; n < windows.size(); ++n) {
    collected[question_of[n]].add(windows[n], found[n]);
  }
  std::vector<std::vector<Answer>> results;
  for (Collected& answers : collected) results.push_back(answers.best(options));
  return results;
}

std::vector<text::Encoding> QuestionAnswerer::windows(const Question& question,
                                                      const AnsweringOptions& options) const {
  check(options);
  return windows_of(question, text_name(options.task.name, 0), reader, options);
}

QuestionAnswerer load_question_answerer(const std::filesystem::path& path) {
  const ModelFolder folder(path);
  TextReader reader = load_reader(folder);
  if (reader.tokenizer->settings().padding_side != text::Side::kRight) {
    fail_file(path.string(),
              "padding_side of tokenizer_config.json, or without it padding.direction of "
              "tokenizer.json, must be right for questions, got left");
  }
  auto model =
      load_model<TokenClassifier>(token_classifier_options(folder, kEnds), folder, kAnswerRenames);
  return {.reader = std::move(reader), .model = std::move(model)};
}

}  // namespace tessera::models
