// The common options and steps of programs that run a pretrained model on lines of text.
#pragma once

#include <functional>
#include <memory>
#include <span>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

#include <tessera/models/hugging_face/sentence_encoder.h>
#include <tessera/models/hugging_face/text_classifier.h>
#include <tessera/models/hugging_face/text_reader.h>
#include <tessera/tensor/error.h>
#include <tessera/tensor/profile_span.h>
#include "examples/programs/attention.h"
#include "examples/programs/cli.h"

namespace tessera::examples {

struct ModelOptions {
  std::string model, file;
  std::string weight_format = "float32";
  index_t max_length = 0;
  index_t batch_size = 32;
  bool plain_text = false;
  bool json = false;
  AttentionOptions attention;
  std::shared_ptr<CutTexts> cut = std::make_shared<CutTexts>();
  std::function<void(const std::string&)> warn = {};  // writes a warning

  void add_to(Command& command, const char* what = "lines of text; standard input if absent") {
    add_model(command, what);
    command.add("--max-length", max_length,
                "maximum number of tokens per text; the model's limit if absent", {1, kMany});
    command.add("--batch-size", batch_size, "texts per batch", {1, kMany});
    command.add("--plain-text", plain_text,
                "special tokens in a text, such as [SEP], read as plain text");
  }
  /// The same without the options of TaskOptions.
  void add_model(Command& command, const char* what) {
    command.add_input("FILE", file, what);
    command.add_input("--model", model, "folder of the model", kRequired);
    command.add("--weight-format", weight_format,
                "format of the weights in memory: full or a quarter of the size",
                {"float32", "int8"});
    command.add("--json", json, "JSON output, one object per line");
    attention.add_to(command);
    cut->report_by(command);
    warn = [&command](const std::string& warning) { command.warn(warning); };
  }
};

/// The model of a folder, only for inference: each weight is in memory once.
template <class Load>
auto loaded_model(const Load& load, const ModelOptions& o) {
  const ProfileScope scope("load model");
  auto model = load(o.model);
  for (const std::string& warning : model.reader.warnings) o.warn(warning);
  models::prepack(
      model, {.format = o.weight_format == "int8" ? WeightFormat::kInt8 : WeightFormat::kExact});
  return model;
}

/// The same for a task, which is a model with an encoder. Also checks --attention.
template <class Load>
auto loaded(const Load& load, const ModelOptions& o) {
  auto model = loaded_model(load, o);
  o.attention.check(model.model.token_encoder.encoder);
  return model;
}

/// The options of a task, with a progress line that counts `what`.
inline models::TaskOptions task_options(const ModelOptions& o, const char* what = "lines") {
  return {.max_length = o.max_length,
          .batch_size = o.batch_size,
          .split_special_tokens = o.plain_text,
          .progress = [line = std::make_shared<Progress>(what)](
                          index_t done, index_t all) { line->show(done, all); },
          .name = [&o](index_t i) { return line_name(o.file, i); },
          .report_cut = [cut = o.cut](index_t texts, index_t tokens) { cut->add(texts, tokens); }};
}

/// Writes the file of --attention for texts as they are encoded for the task. The result of a
/// classifier is its logits.
template <class Task>
void write_attention(const ModelOptions& o, const Task& task,
                     std::vector<text::Encoding> encodings) {
  AttentionTexts texts = {.about = o.model,
                          .encoder = task.model.token_encoder,
                          .reader = task.reader,
                          .encodings = std::move(encodings)};
  if constexpr (std::is_same_v<Task, models::TextClassifier>) {
    texts.result = [&](const text::Encoding& text) { return task.logits(std::span(&text, 1)); };
    texts.is_logits = true;
  }
  write_attention(o.attention, texts);
}

/// The same for lines or pairs, if there is such a file.
template <class Task, class Text>
void write_attention(const ModelOptions& o, const Task& task, models::TaskOptions how,
                     const std::vector<Text>& texts) {
  if (o.attention.file.empty()) return;
  how.report_cut = {};  // the task has counted them
  write_attention(o, task, task.reader.encode_batch(std::span<const Text>(texts), how));
}

}  // namespace tessera::examples
