// Orders lines by how well they answer a query, with a pretrained cross-encoder.
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
#include "examples/programs/shared_lines.h"
#include "models/hugging_face/text_classifier.h"

int main(int argc, char** argv) {
  using namespace tessera;
  examples::Command command("rerank",
                            "Orders lines by how well they answer a query: score, line number and "
                            "line.");
  examples::ModelOptions options;
  std::string query;
  index_t top = 0;
  examples::add_model_options(command, options, "lines of text; standard input if absent");
  command.add("--query", query, "text to rank the lines by").required();
  command.add("--top", top, "maximum number of lines to print; all if absent",
              {1, examples::kMany});
  command.splits_work();
  return command.run(argc, argv, [&] {
    const auto model = examples::loaded(models::load_cross_encoder, options.model, options.weights);
    const examples::AttentionFile attention = examples::attention_file(options, model);
    const std::vector<std::string> lines = examples::input_lines(options.file);
    examples::CommandProgress progress("lines", std::ssize(lines));
    const auto own = examples::own_share(lines);
    const models::TaskOptions task = examples::task_options(options, progress, own.begin);
    const Tensor scores = examples::gathered_rows(model.scores(query, own.items, task));
    progress.clear();
    if (!examples::leaves_traces()) return;
    auto ranked = models::CrossEncoder::best_first(scores);
    if (top > 0) ranked.resize(std::min(ranked.size(), static_cast<std::size_t>(top)));
    for (const models::CrossEncoder::Ranked& each : ranked) {
      examples::print_scored_line(lines, static_cast<std::size_t>(each.text), each.score,
                                  options.json);
    }
    // The pairs in the order in which they are printed.
    const text::EncodeOptions encode = model.reader.encode_options(task);
    examples::write_attention(attention, model, std::ssize(ranked), [&](index_t i) {
      const auto line = static_cast<std::size_t>(ranked[static_cast<std::size_t>(i)].text);
      return model.reader.tokenizer->encode_pair(query, lines[line], encode);
    });
  });
}
