// Predicts the masked tokens of lines with a masked language model.
//
//   echo 'The capital of France is [MASK].' | fill_mask --model bert-base-uncased
//
// Each row is a probability, the token, and the line with it.
#include <iostream>
#include <string>
#include <vector>

#include <tessera/models/hugging_face/mask_filler.h>
#include <tessera/tensor/error.h>
#include <tessera/tensor/format.h>
#include <tessera/tensor/io/file.h>
#include <tessera/tensor/io/json.h>
#include "examples/programs/cli.h"
#include "examples/programs/model_options.h"

namespace {

using namespace tessera;

void print_rows(const std::vector<models::Blank>& blanks) {
  for (const models::Blank& blank : blanks) {
    for (const models::Filling& filling : blank.fillings) {
      std::cout << decimals(filling.score, 4) << '\t' << escaped(filling.token) << '\t'
                << escaped(filling.text) << '\n';
    }
    std::cout << '\n';
  }
}

std::string json_of(const std::vector<models::Blank>& blanks) {
  const auto filled = [](const models::Filling& filling) {
    return JsonObject({{"id", filling.id},
                       {"token", filling.token},
                       {"text", filling.text},
                       {"score", filling.score}});
  };
  const auto one = [&](const models::Blank& blank) {
    return JsonObject({{"begin", blank.bytes.begin},
                       {"end", blank.bytes.end},
                       {"fillings", json_list(blank.fillings, filled)}});
  };
  return JsonObject({{"blanks", json_list(blanks, one)}}).text();
}

}  // namespace

int main(int argc, char** argv) {
  examples::Command command("fill_mask",
                            "Predicts the masked tokens of lines, [MASK] or <mask>, and prints "
                            "probability, token and filled line.");
  examples::ModelOptions options;
  index_t top = 5;
  options.add_to(command, "lines with masked tokens; standard input if absent");
  command.add("--top", top, "number of predictions per masked token", {1, examples::kMany});
  return command.run(argc, argv, [&] {
    const auto model = examples::loaded(models::load_mask_filler, options);
    const std::vector<std::string> lines = examples::input_lines(options.file);
    for (std::size_t i = 0; i < lines.size(); ++i) {
      if (lines[i].find(model.mask()) != std::string::npos) continue;
      fail_file(examples::line_name(options.file, static_cast<index_t>(i)), "must contain ",
                escaped(model.mask()), ", got ", printable(lines[i]));
    }
    models::TaskOptions task = examples::task_options(options);
    const auto results = model(lines, {.top_k = top, .task = task});
    for (const std::vector<models::Blank>& blanks : results) {
      if (options.json) {
        std::cout << json_of(blanks) << '\n';
      } else {
        print_rows(blanks);
      }
    }
    task.split_special_tokens = false;  // a mask is such a token
    examples::write_attention(options, model, task, lines);
  });
}
