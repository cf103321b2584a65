// Finds the parts of a text that answer a question, with a pretrained model.
//
//   answer --model roberta-base-squad2 --question 'Who wrote it?' book.txt
//
// Each row is a score, the bytes of the text, and the answer.
#include <algorithm>
#include <iostream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <tessera/models/hugging_face/question_answerer.h>
#include <tessera/tensor/error.h>
#include <tessera/tensor/format.h>
#include <tessera/tensor/io/json.h>
#include "examples/programs/cli.h"
#include "examples/programs/model_options.h"

namespace {

using namespace tessera;

struct Options {
  examples::ModelOptions model;
  std::string question;
  bool pair = false;
  models::AnsweringOptions answering;
  index_t window = 0;
};

/// One question about the whole text, or a question and its own text on each line.
/// **Errors**: neither or both.
std::vector<models::Question> questions_of(const Options& o) {
  require(o.pair == o.question.empty(), "answer", "either --question or --pair must be given, got ",
          o.pair ? "both" : "neither");
  if (!o.pair) return {{.question = o.question, .context = examples::input_text(o.model.file)}};
  std::vector<models::Question> questions;
  for (text::TextPair& pair :
       examples::text_pairs(examples::input_lines(o.model.file), o.model.file)) {
    questions.push_back({std::move(pair.first), std::move(pair.second)});
  }
  return questions;
}

std::string json_of(const std::vector<models::Answer>& answers) {
  const auto one = [](const models::Answer& answer) {
    return JsonObject({{"text", answer.text},
                       {"score", answer.score},
                       {"begin", answer.bytes.begin},
                       {"end", answer.bytes.end}});
  };
  return JsonObject({{"answers", json_list(answers, one)}}).text();
}

void print(const std::vector<models::Answer>& answers, const Options& o) {
  if (o.model.json) {
    std::cout << json_of(answers) << '\n';
    return;
  }
  for (const models::Answer& each : answers) {
    std::cout << decimals(each.score, 4) << '\t' << each.bytes.begin << '-' << each.bytes.end
              << '\t' << escaped(each.text) << '\n';
  }
  if (o.pair) std::cout << '\n';
}

void answer(Options& o) {
  const std::vector<models::Question> questions = questions_of(o);
  const auto model = examples::loaded(models::load_question_answerer, o.model);
  models::require_max_length("--window", o.window, model.reader.max_length);
  if (o.window > 0) o.answering.window = o.window;
  o.answering.task = examples::task_options(o.model, "windows");
  if (!o.pair) {
    o.answering.task.name = [&](index_t) { return examples::input_name(o.model.file); };
  }
  for (const auto& answers : model(questions, o.answering)) print(answers, o);
  if (o.model.attention.file.empty()) return;
  std::vector<text::Encoding> windows;  // in which the questions' contexts were read
  for (const models::Question& question : questions) {
    std::ranges::move(model.windows(question, o.answering), std::back_inserter(windows));
  }
  examples::write_attention(o.model, model, std::move(windows));
}

}  // namespace

int main(int argc, char** argv) {
  using examples::kMany;
  examples::Command command("answer",
                            "Finds the parts of a text that answer a question, and prints score, "
                            "bytes and text of each. An empty text means that there is no answer.");
  Options o;
  o.model.add_model(command, "text; standard input if absent");
  command.add("--question", o.question, "question about the whole text");
  command.add("--pair", o.pair, "input lines of question<TAB>text");
  command.add("--top", o.answering.top_k, "maximum number of answers per question", {1, kMany});
  command.add("--max-answer-tokens", o.answering.max_answer_tokens,
              "maximum number of tokens per answer", {1, kMany});
  command.add("--allow-no-answer", o.answering.allow_no_answer,
              "empty answer as a candidate, for texts without an answer");
  command.add("--window", o.window, "tokens of a window; 384 or the model's limit if absent",
              {1, kMany});
  command.add("--stride", o.answering.stride, "tokens shared by neighbouring windows", {0, kMany});
  return command.run(argc, argv, [&] { answer(o); });
}
