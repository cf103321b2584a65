// Orders lines by their relevance to a query, with a pretrained cross-encoder.
//
//   rerank --model ms-marco-MiniLM-L6-v2 --query 'how many people live in Berlin' found.txt
//
// Each row is a score, the line's number and the line, the best first.
#include <algorithm>
#include <string>
#include <vector>

#include "examples/programs/command.h"
#include "examples/programs/model_options.h"
#include "examples/programs/scored_lines.h"
#include "models/hugging_face/text_classifier.h"

int main(int argc, char** argv) {
  using namespace tessera;
  examples::Command command("rerank",
                            "Orders lines by how well they answer a query, and prints score, line "
                            "number and line.");
  examples::ModelOptions options;
  std::string query;
  index_t top = 0;
  examples::add_model_options(command, options, "lines of text; standard input if absent");
  command.add("--query", query, "text to rank the lines by").required();
  command.add("--top", top, "maximum number of lines to print; all if absent",
              {1, examples::kMany});
  return command.run(argc, argv, [&] {
    examples::LineRun run(models::load_cross_encoder, options);
    auto ranked = models::best_first(run.model.scores(query, run.lines, run.task));
    run.progress.clear();
    if (top > 0) ranked.resize(std::min(ranked.size(), static_cast<std::size_t>(top)));
    for (const models::RankedText& each : ranked) {
      examples::print_scored_line(run.lines, static_cast<std::size_t>(each.text), each.score,
                                  options.json);
    }
    // The pairs in the order of printing.
    const text::EncodeOptions encode = run.model.reader.encode_options(run.task);
    run.write_attention(std::ssize(ranked), [&](index_t i) {
      const auto line = static_cast<std::size_t>(ranked[static_cast<std::size_t>(i)].text);
      return run.model.reader.tokenizer->encode_pair(query, run.lines[line], encode);
    });
  });
}
