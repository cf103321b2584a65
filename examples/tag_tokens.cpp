// Names, places and other parts of lines, by a pretrained token classifier.
//
//   tag_tokens --model bert-base-NER letters.txt
//
// Each row is the line's number, a label, its score, the bytes of the line, and the text there.
#include <iostream>
#include <string>
#include <vector>

#include "examples/command.h"
#include "examples/console.h"
#include "examples/json_text.h"
#include "examples/model_options.h"
#include "examples/progress.h"
#include "models/hugging_face/token_tagger.h"

namespace {

using namespace tessera;

std::string json_of(const std::vector<models::Tag>& tags, const std::string& line) {
  return "{\"tags\":" +
         examples::json_list(tags,
                             [&](const models::Tag& tag) {
                               return format(
                                   "{\"label\":", json_quoted(tag.label),
                                   ",\"score\":", examples::json_number(tag.score),
                                   ",\"begin\":", tag.bytes.begin, ",\"end\":", tag.bytes.end,
                                   ",\"text\":", json_quoted(text::text_at(line, tag.bytes)), '}');
                             }) +
         '}';
}

}  // namespace

int main(int argc, char** argv) {
  examples::Command command("tag_tokens",
                            "Finds names and other parts of lines, by a pretrained token "
                            "classifier: line, label, score, bytes and text.");
  examples::ModelOptions options;
  std::string grouping = "simple";
  examples::add_model_options(command, options, "lines of text; standard input if absent");
  command.add("--grouping", grouping,
              "how tokens become parts; all but none and simple keep words whole",
              {"none", "simple", "first", "average", "max"});
  return command.run(argc, argv, [&] {
    const auto model = examples::frozen(models::load_token_tagger(options.model), options.weights);
    const examples::AttentionFile attention = examples::attention_file(options, model);
    const std::vector<std::string> lines = examples::input_lines(options.file);
    examples::CommandProgress progress("lines", std::ssize(lines));
    const models::TaskOptions task = examples::task_options(options, progress);
    const auto results = model(lines, models::tag_grouping(grouping), task);
    progress.clear();
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (options.json) {
        std::cout << json_of(results[i], lines[i]) << '\n';
        continue;
      }
      for (const models::Tag& tag : results[i]) {
        std::cout << i + 1 << '\t' << examples::plain(tag.label) << '\t'
                  << examples::fixed(tag.score, 4) << '\t' << tag.bytes.begin << '-'
                  << tag.bytes.end << '\t' << text::text_at(lines[i], tag.bytes) << '\n';
      }
    }
    const text::EncodeOptions encode = model.reader.encode_options(task);
    examples::write_attention(attention, model, std::ssize(lines), [&](index_t i) {
      return model.reader.tokenizer->encode(lines[static_cast<std::size_t>(i)], encode);
    });
  });
}
