// Orders lines by their relevance to a query, with a pretrained cross-encoder.
//
//   rerank --model ms-marco-MiniLM-L6-v2 --query 'how many people live in Berlin' found.txt
//
// Each row is a score, the line's number and the line, the best first.
#include <algorithm>
#include <iostream>
#include <string>
#include <vector>

#include <tessera/models/hugging_face/text_classifier.h>
#include <tessera/tensor/format.h>
#include <tessera/tensor/io/json.h>
#include "examples/programs/cli.h"
#include "examples/programs/model_options.h"

int main(int argc, char** argv) {
  using namespace tessera;
  examples::Command command("rerank",
                            "Orders lines by how well they answer a query, and prints score, line "
                            "number and line.");
  examples::ModelOptions options;
  std::string query;
  index_t top = 0;
  options.add_to(command);
  command.add("--query", query, "text to rank the lines by", examples::kRequired);
  command.add("--top", top, "maximum number of lines to print; all if absent",
              {1, examples::kMany});
  return command.run(argc, argv, [&] {
    const auto model = examples::loaded(models::load_cross_encoder, options);
    const std::vector<std::string> lines = examples::input_lines(options.file);
    const models::TaskOptions task = examples::task_options(options);
    auto ranked = model.rank(query, lines, task);
    if (top > 0) ranked.resize(std::min(ranked.size(), static_cast<std::size_t>(top)));
    std::vector<text::TextPair> pairs;  // best first, as the model reads them
    for (const models::RankedText& each : ranked) {
      const std::string& line = lines[static_cast<std::size_t>(each.text)];
      pairs.push_back({query, line});
      if (options.json) {
        const JsonObject row({{"line", each.text + 1}, {"score", each.score}, {"text", line}});
        std::cout << row.text() << '\n';
      } else {
        std::cout << decimals(each.score, 4) << '\t' << each.text + 1 << '\t'
                  << examples::escaped_line(line) << '\n';
      }
    }
    examples::write_attention(options, model, task, pairs);
  });
}
