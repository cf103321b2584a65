// Finds the class of each line, with a pretrained sequence classifier.
//
//   classify_text --model distilbert-base-uncased-finetuned-sst-2-english reviews.txt
//
// Each row is a label, its score and the line.
#include <algorithm>
#include <iostream>
#include <span>
#include <string>
#include <vector>

#include "examples/programs/command.h"
#include "examples/programs/console.h"
#include "examples/programs/model_options.h"
#include "examples/programs/progress.h"
#include "examples/programs/shared_lines.h"
#include "examples/programs/text_pairs.h"
#include "models/hugging_face/text_classifier.h"
#include "tensor/io/json.h"
#include "tensor/printable.h"

namespace {

using namespace tessera;

std::string json_of(std::span<const models::ClassScore> classes) {
  const auto one = [](const models::ClassScore& each) {
    return JsonObject({{"label", each.label}, {"score", each.score}});
  };
  return JsonObject({{"classes", json_list(classes, one)}}).text();
}

void print(std::ostream& out, const std::vector<std::vector<models::ClassScore>>& results,
           std::span<const std::string> lines, index_t top, bool json) {
  for (std::size_t i = 0; i < lines.size(); ++i) {
    const std::size_t count = std::min(results[i].size(), static_cast<std::size_t>(top));
    const std::span best = std::span(results[i]).first(count);
    if (json) {
      out << json_of(best) << '\n';
      continue;
    }
    for (const models::ClassScore& each : best) {
      out << escaped(each.label) << '\t' << examples::fixed(each.score, 4) << '\t'
          << examples::escaped_line(lines[i]) << '\n';
    }
  }
}

}  // namespace

int main(int argc, char** argv) {
  examples::Command command(
      "classify_text", "Classifies lines with a pretrained classifier: label, score and line.");
  examples::ModelOptions options;
  bool pair = false;
  index_t top = 1;
  examples::add_model_options(command, options, "lines of text; standard input if absent");
  command.add("--pair", pair, "input lines of text<TAB>text");
  command.add("--top", top, "maximum number of classes per line, best first", {1, examples::kMany});
  command.splits_work();
  return command.run(argc, argv, [&] {
    const auto model =
        examples::loaded(models::load_text_classifier, options.model, options.weights);
    const examples::AttentionFile attention = examples::attention_file(options, model);
    const std::vector<std::string> lines = examples::input_lines(options.file);
    std::vector<text::TextPair> pairs;
    if (pair) pairs = examples::text_pairs(lines, examples::input_name(options.file));
    examples::CommandProgress progress("lines", std::ssize(lines));
    const auto own = examples::own_share(lines);
    const models::TaskOptions task = examples::task_options(options, progress, own.begin);
    const auto results =
        pair ? model(examples::own_share(pairs).items, task) : model(own.items, task);
    progress.clear();
    examples::SharedOutput out;
    print(out.stream(), results, own.items, top, options.json);
    out.print();
    const text::EncodeOptions encode = model.reader.encode_options(task);
    examples::write_attention(attention, model, std::ssize(lines), [&](index_t i) {
      const auto n = static_cast<std::size_t>(i);
      const text::Tokenizer& tokenizer = *model.reader.tokenizer;
      return pair ? tokenizer.encode_pair(pairs[n].first, pairs[n].second, encode)
                  : tokenizer.encode(lines[n], encode);
    });
  });
}
