// The options of programs that run a pretrained model on texts.
#pragma once

#include <string>

#include "examples/programs/attention_file.h"
#include "examples/programs/command.h"
#include "examples/programs/progress.h"
#include "examples/programs/same_files.h"
#include "models/hugging_face/freeze.h"
#include "models/hugging_face/task.h"
#include "tensor/error.h"

namespace tessera::examples {

struct ModelOptions {
  std::string model, file;
  std::string weights = "float32";
  index_t max_length = 0;
  index_t batch_size = 32;
  bool plain_text = false;
  bool json = false;
  AttentionOptions attention;
};

inline void add_weights_option(Command& command, std::string& weights) {
  command.add("--weights", weights, "format of the weights in memory; bfloat16 halves it",
              {"float32", "bfloat16"});
}

inline void add_model_options(Command& command, ModelOptions& options, const char* file_is) {
  command.add_argument("FILE", options.file, file_is);
  command.add_input("--model", options.model, "the model's folder").required();
  add_weights_option(command, options.weights);
  command.add("--max-length", options.max_length,
              "most tokens per text; the model's limit if absent", {1, kMany});
  command.add("--batch-size", options.batch_size, "texts per batch", {1, kMany});
  command.add("--plain-text", options.plain_text,
              "special tokens in a text, such as [SEP], read as plain text");
  command.add("--json", options.json, "JSON output, one object per line");
  add_attention_options(command, options.attention);
}

/// The model of a folder, for inference only: each weight is held once. **Errors**: also a folder that
/// differs between processes.
template <class Load>
auto loaded(const Load& load, const std::string& folder, const std::string& weights) {
  require_same_files(folder);
  auto model = load(folder);
  models::freeze(model, weights == "bfloat16" ? WeightFormat::kBFloat16 : WeightFormat::kExact);
  return model;
}

/// Writes the file of --attention for `count` texts. `encode(i)` is text i as the task reads it.
template <class Task, class Encode>
void write_attention(const AttentionFile& file, const Task& task, index_t count,
                     const Encode& encode) {
  file.write(count, *task.reader.tokenizer, task.model.encode,
             [&](index_t i) { return read_text_of(encode(i), task.reader.feeds_types); });
}

/// The file of --attention for a task's model.
template <class Task>
AttentionFile attention_file(const ModelOptions& options, const Task& task) {
  return {options.attention, task.model.encode.encoder, options.model};
}

/// The names in errors of the lines of a file or standard input from line `first` on, counted from 0.
inline models::TextName line_name(const std::string& file, index_t first = 0) {
  return [input = input_name(file), first](index_t number) {
    return str_cat(input, ": line ", first + number + 1);
  };
}

/// For texts that are the lines from `first` on. `progress` must live as long as the result.
inline models::TaskOptions task_options(const ModelOptions& options, CommandProgress& progress,
                                        index_t first) {
  return {.max_length = options.max_length,
          .batch_size = options.batch_size,
          .special_in_text = !options.plain_text,
          .progress = [&progress](index_t done, index_t all) { progress.show_share(done, all); },
          .name = line_name(options.file, first)};
}

}  // namespace tessera::examples
