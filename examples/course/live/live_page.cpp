// Writes the course's interactive page: live.html, with the weights of train_reverse and its
// forward pass in JavaScript.
//
//  train_reverse --save run
//  live_page --weights run/checkpoint.safetensors --sources examples/course/live --output live.html
#include <bit>
#include <cstdint>
#include <iostream>
#include <string>

#include <tessera/models/pages/page.h>
#include <tessera/models/text/text_file.h>
#include <tessera/nn/training/checkpoint.h>
#include <tessera/tensor/error.h>
#include <tessera/tensor/io/json.h>
#include "examples/programs/cli.h"

namespace {

using namespace tessera;

/// Checks that the model has one layer with one head, because the page computes only this.
void check_options(const nn::Checkpoint& run) {
  for (const char* option : {"option.layers", "option.heads"}) {
    const auto count = run.integer<index_t>(option);
    if (count != 1) fail_file(run.file, option, ": must be 1, got ", count);
  }
}

/// float32, the least significant byte first.
std::string bytes_of(const Tensor& values) {
  std::string bytes;
  for (const float value : values.to_vector<float>()) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (int shift = 0; shift < 32; shift += 8) bytes += static_cast<char>(bits >> shift & 0xff);
  }
  return bytes;
}

/// Names and shapes of the model's parameters, and all their elements in this order.
std::string model_json(const nn::Checkpoint& run) {
  JsonObject shapes;
  std::string bytes;
  for (const auto& [name, values] : run.group("model").tensors) {
    shapes.add(name, json_list(values.shape()));
    bytes += bytes_of(values);
  }
  return JsonObject({{"length", run.integer<index_t>("option.length")},
                     {"words", run.integer<index_t>("option.words")},
                     {"seed", run.integer<index_t>("option.seed")},
                     {"shapes", shapes},
                     {"float32", pages::base64(bytes)}})
      .text();
}

}  // namespace

int main(int argc, char** argv) {
  examples::Command command("live_page", "Writes a page that computes with trained weights.");
  std::string weights, sources, output;
  command.add_input("--weights", weights, "checkpoint of train_reverse with one layer and one head",
                    examples::kRequired);
  command.add_input("--sources", sources, "folder of the page's body, style and scripts",
                    examples::kRequired);
  command.add_output("--output", output, "output file for the page, .html", examples::kRequired);
  return command.run(argc, argv, [&] {
    const nn::Checkpoint run = nn::load_checkpoint(weights);
    check_options(run);
    const auto source = [&](const char* name) { return text::read_text(sources + "/" + name); };
    pages::Page page = {.title = "A model that computes",
                        .body = source("body.html"),
                        .styles = {source("style.css")},
                        .data = {{"model", model_json(run)}}};
    for (const char* name :
         {"model.js", "steps.js", "draw.js", "panel.js", "figures.js", "word.js", "page.js"}) {
      page.scripts.push_back(source(name));
    }
    pages::write_page(output, page);
  });
}
