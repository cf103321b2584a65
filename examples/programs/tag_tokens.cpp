// Finds names, places and other parts of lines, with a pretrained token classifier.
//
//   tag_tokens --model bert-base-NER letters.txt
//
// Each row is the line's number, a label, its score, the bytes of the line, and the text there.
#include <algorithm>
#include <iostream>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

#include <tessera/models/hugging_face/token_tagger.h>
#include <tessera/tensor/error.h>
#include <tessera/tensor/format.h>
#include <tessera/tensor/io/json.h>
#include "examples/programs/cli.h"
#include "examples/programs/model_options.h"

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
  index_t window = 0, stride = -1;
  options.add_to(command);
  command.add("--aggregation", aggregation,
              "aggregation of tokens; first, average and max keep words whole",
              {"none", "simple", "first", "average", "max"});
  command.add("--window", window,
              "tokens per window of a long line; with --stride, the model's limit if absent",
              {1, examples::kMany});
  command.add("--stride", stride,
              "tokens that adjacent windows share; a quarter of --window if absent; if both are "
              "absent, long lines are truncated",
              {0, examples::kMany});
  return command.run(argc, argv, [&] {
    require(window == 0 || options.max_length == 0, "tag_tokens",
            "--window must not be combined with --max-length");
    const auto model = examples::loaded(models::load_token_tagger, options);
    models::require_max_length("--window", window, model.reader.max_length);
    const std::vector<std::string> lines = examples::input_lines(options.file);
    models::TaskOptions task = examples::task_options(options);
    if (window > 0) task.max_length = window;
    if (window > 0 || stride >= 0) task.stride = stride >= 0 ? stride : window / 4;
    const auto tags = model(lines, models::aggregation_strategy(aggregation), task);
    for (std::size_t i = 0; i < lines.size(); ++i) print(tags[i], i + 1, lines[i], options.json);
    if (options.attention.file.empty()) return;
    std::vector<text::Encoding> windows;
    for (const std::string& line : lines) {
      std::ranges::move(model.windows(line, task), std::back_inserter(windows));
    }
    examples::write_attention(options, model, std::move(windows));
  });
}
