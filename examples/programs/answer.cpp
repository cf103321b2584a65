// Finds the parts of a text that answer a question, with a pretrained model.
//
//   answer --model roberta-base-squad2 --question 'Who wrote it?' book.txt
//
// Each row is a score, the bytes of the text, and the answer.
#include <iostream>
#include <string>
#include <utility>
#include <vector>

#include "examples/programs/cli.h"
#include "examples/programs/model_options.h"
#include "models/hugging_face/question_answerer.h"
#include "tensor/error.h"
#include "tensor/format.h"
#include "tensor/io/json.h"

namespace {

using namespace tessera;

struct Options {
  std::string model, file, question;
  std::string weight_format = "float32";
  bool pair = false;
  models::AnsweringOptions answering;
  index_t window = 0;
  bool json = false;
  examples::AttentionOptions attention;
};

/// One question about the whole text, or a question and its own text on each line.
/// **Errors**: neither or both.
std::vector<models::Question> questions_of(const Options& o) {
  require(o.pair == o.question.empty(), "answer", "either --question or --pair must be given, got ",
          o.pair ? "both" : "neither");
  if (!o.pair) return {{.question = o.question, .context = examples::input_text(o.file)}};
  std::vector<models::Question> questions;
  for (text::TextPair& pair :
       examples::text_pairs(examples::input_lines(o.file), examples::input_name(o.file))) {
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
  if (o.json) {
    std::cout << json_of(answers) << '\n';
    return;
  }
  for (const models::Answer& each : answers) {
    std::cout << decimals(each.score, 4) << '\t' << each.bytes.begin << '-' << each.bytes.end
              << '\t' << escaped(each.text) << '\n';
  }
  if (o.pair) std::cout << '\n';
}

/// The windows in which the questions' contexts were read.
void write_attention(const Options& o, const models::QuestionAnswerer& model,
                     const std::vector<models::Question>& questions) {
  std::vector<text::Encoding> windows;
  for (const models::Question& question : questions) {
    for (text::Encoding& window : model.windows(question, o.answering)) {
      windows.push_back(std::move(window));
    }
  }
  examples::write_attention(o.attention, o.model, model, std::ssize(windows),
                            [&](index_t i) { return windows[static_cast<std::size_t>(i)]; });
}

void answer(Options& o) {
  const std::vector<models::Question> questions = questions_of(o);
  const auto model = examples::loaded(models::load_question_answerer, o.model, o.weight_format);
  o.attention.check(model.model.encode.encoder);
  models::require_max_length("--window", o.window, model.reader.max_length);
  if (o.window > 0) o.answering.window = o.window;
  examples::Progress progress("windows");
  o.answering.task.progress = [&](index_t done, index_t all) { progress.show(done, all); };
  o.answering.task.name = [&, line = examples::line_name(o.file)](index_t number) {
    return o.pair ? line(number) : examples::input_name(o.file);
  };
  const auto results = model(questions, o.answering);
  progress.clear();
  for (const std::vector<models::Answer>& answers : results) print(answers, o);
  if (!o.attention.file.empty()) write_attention(o, model, questions);
}

}  // namespace

int main(int argc, char** argv) {
  using examples::kMany;
  examples::Command command("answer",
                            "Finds the parts of a text that answer a question, and prints score, "
                            "bytes and text of each. An empty text means that there is no answer.");
  Options o;
  command.add_argument("FILE", o.file, "text; standard input if absent");
  command.add_input("--model", o.model, "folder of the model").required();
  examples::add_weight_format(command, o.weight_format);
  command.add("--question", o.question, "question about the whole text");
  command.add("--pair", o.pair, "input lines of question<TAB>text");
  command.add("--top", o.answering.count, "maximum number of answers per question", {1, kMany});
  command.add("--max-answer-tokens", o.answering.max_answer_tokens,
              "maximum number of tokens per answer", {1, kMany});
  command.add("--allow-no-answer", o.answering.allow_no_answer,
              "empty answer as a candidate, for texts without an answer");
  command.add("--window", o.window, "tokens of a window; 384 or the model's limit if absent",
              {1, kMany});
  command.add("--stride", o.answering.stride, "tokens shared by neighbouring windows", {0, kMany});
  command.add("--json", o.json, "JSON output, one object per question");
  o.attention.add_to(command);
  return command.run(argc, argv, [&] { answer(o); });
}
