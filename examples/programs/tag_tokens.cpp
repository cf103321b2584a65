// Finds names, places and other parts of lines, with a pretrained token classifier.
//
//   tag_tokens --model bert-base-NER letters.txt
//
// Each row is the line's number, a label, its score, the bytes of the line, and the text there.
#include <iostream>
#include <string>
#include <vector>

#include "examples/programs/cli.h"
#include "examples/programs/model_options.h"
#include "models/hugging_face/token_tagger.h"
#include "tensor/error.h"
#include "tensor/format.h"
#include "tensor/io/json.h"

namespace {

using namespace tessera;

std::string json_of(const std::vector<models::Tag>& tags, const std::string& line) {
  const auto one = [&](const models::Tag& tag) {
    return JsonObject({{"label", tag.label},
                       {"score", tag.score},
                       {"begin", tag.bytes.begin},
                       {"end", tag.bytes.end},
                       {"text", text::text_at(line, tag.bytes)}});
  };
  return JsonObject({{"tags", json_list(tags, one)}}).text();
}

/// Prints the tags of a line and, unless the format is JSON, its number.
void print(const std::vector<models::Tag>& tags, std::size_t number, const std::string& line,
           bool json) {
  if (json) {
    std::cout << json_of(tags, line) << '\n';
    return;
  }
  for (const models::Tag& tag : tags) {
    std::cout << number << '\t' << escaped(tag.label) << '\t' << decimals(tag.score, 4) << '\t'
              << tag.bytes.begin << '-' << tag.bytes.end << '\t'
              << escaped(text::text_at(line, tag.bytes)) << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  examples::Command command("tag_tokens",
                            "Finds names and other parts of lines with a pretrained token "
                            "classifier, and prints line number, label, score, bytes and text.");
  examples::ModelOptions options;
  std::string aggregation = "simple";
  options.add_to(command);
  command.add("--aggregation", aggregation,
              "aggregation of tokens; first, average and max keep words whole",
              {"none", "simple", "first", "average", "max"});
  return command.run(argc, argv, [&] {
    const auto model = examples::loaded(models::load_token_tagger, options);
    const std::vector<std::string> lines = examples::input_lines(options.file);
    const models::TaskOptions task = examples::task_options(options);
    const auto tags = model(lines, models::aggregation_strategy(aggregation), task);
    for (std::size_t i = 0; i < lines.size(); ++i) print(tags[i], i + 1, lines[i], options.json);
    examples::write_attention(options, model, task, lines);
  });
}
