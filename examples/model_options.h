// The options of programs that ask a pretrained model about texts.
#pragma once

#include <string>

#include "examples/attention_file.h"
#include "examples/command.h"
#include "examples/command_progress.h"
#include "examples/same_files.h"
#include "models/hugging_face/freeze.h"
#include "models/hugging_face/task.h"

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
  command.add("--weights", weights, "how weights are held; bfloat16 takes half the memory",
              {"float32", "bfloat16"});
}

inline void add_model_options(Command& command, ModelOptions& options, const char* file_is) {
  command.add_argument("FILE", options.file, file_is);
  command.add("--model", options.model, "the model's folder", Need::kRequired);
  add_weights_option(command, options.weights);
  command.add("--max-length", options.max_length, "most tokens of a text; the model's if absent",
              {1, kMany});
  command.add("--batch-size", options.batch_size, "texts computed together", {1, kMany});
  command.add("--plain-text", options.plain_text, "take a [SEP] that a text spells out as text");
  command.add("--json", options.json, "print JSON, one object a line");
  add_attention_options(command, options.attention);
}

/// The model of a folder, which must be the same to all processes, as programs hold it that only
/// infer: each weight once.
template <class Load>
auto loaded(const Load& load, const std::string& folder, const std::string& weights) {
  require_same_files(folder);
  auto model = load(folder);
  models::freeze(model, weights == "bfloat16" ? WeightFormat::kBFloat16 : WeightFormat::kExact);
  return model;
}

/// Writes what --attention asks for of `count` texts. `encode(i)` is the i-th as
/// the task reads it.
template <class Task, class Encode>
void write_attention(const AttentionFile& file, const Task& task, index_t count,
                     const Encode& encode) {
  file.write(count, *task.reader.tokenizer, task.model.encode,
             [&](index_t i) { return read_text_of(encode(i), task.reader.feeds_types); });
}

/// The file that --attention names, of a task's model.
template <class Task>
AttentionFile attention_file(const ModelOptions& options, const Task& task) {
  return {options.attention, task.model.encode.encoder, options.model};
}

/// `first` is the number of the first text among those of all processes, as errors name them.
/// `progress` must live as long as the result.
inline models::TaskOptions task_options(const ModelOptions& options, CommandProgress& progress,
                                        index_t first) {
  return {.max_length = options.max_length,
          .batch_size = options.batch_size,
          .special_in_text = !options.plain_text,
          .progress = [&progress](index_t done, index_t all) { progress.show_share(done, all); },
          .first = first};
}

}  // namespace tessera::examples
