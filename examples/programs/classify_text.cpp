// Classifies each line, with a pretrained sequence classifier.
//
//   classify_text --model distilbert-base-uncased-finetuned-sst-2-english reviews.txt
//
// Each row is a label, its score and the line.
#include <algorithm>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include <tessera/models/hugging_face/text_classifier.h>
#include <tessera/tensor/error.h>
#include <tessera/tensor/format.h>
#include <tessera/tensor/io/json.h>
#include "examples/programs/cli.h"
#include "examples/programs/model_options.h"

namespace {

using namespace tessera;

std::string json_of(std::span<const models::ClassScore> classes) {
  const auto one = [](const models::ClassScore& each) {
    return JsonObject({{"label", each.label}, {"score", each.score}});
  };
  return JsonObject({{"classes", json_list(classes, one)}}).text();
}

void print(std::span<const models::ClassScore> best, const std::string& line, bool json) {
  if (json) {
    std::cout << json_of(best) << '\n';
    return;
  }
  for (const models::ClassScore& each : best) {
    std::cout << escaped(each.label) << '\t' << decimals(each.score, 4) << '\t'
              << examples::escaped_line(line) << '\n';
  }
}

}  // namespace

int main(int argc, char** argv) {
  examples::Command command(
      "classify_text",
      "Classifies lines with a pretrained classifier, and prints label, score and line.");
  examples::ModelOptions options;
  bool pair = false;
  index_t top = 1;
  options.add_to(command);
  command.add("--pair", pair, "input lines of text<TAB>text");
  command.add("--top", top, "maximum number of classes per line, best first", {1, examples::kMany});
  return command.run(argc, argv, [&] {
    const auto model = examples::loaded(models::load_text_classifier, options);
    const std::vector<std::string> lines = examples::input_lines(options.file);
    const models::TaskOptions task = examples::task_options(options);
    const auto run = [&](const auto& texts) {
      const auto results = model(texts, task);
      for (std::size_t i = 0; i < lines.size(); ++i) {
        const std::span<const models::ClassScore> classes = results[i];
        const std::size_t count = std::min(classes.size(), static_cast<std::size_t>(top));
        print(classes.first(count), lines[i], options.json);
      }
      examples::write_attention(options, model, task, texts);
    };
    pair ? run(examples::text_pairs(lines, options.file)) : run(lines);
  });
}
