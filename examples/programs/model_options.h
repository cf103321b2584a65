// The common options and steps of programs that run a pretrained model on lines of text.
#pragma once

#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "examples/programs/attention.h"
#include "examples/programs/cli.h"
#include "models/hugging_face/sentence_encoder.h"
#include "models/hugging_face/task.h"
#include "models/hugging_face/text_classifier.h"
#include "tensor/error.h"
#include "tensor/profile_span.h"

namespace tessera::examples {

inline void add_weight_format(Command& command, std::string& weight_format) {
  command.add("--weight-format", weight_format,
              "format of the weights in memory: full or a quarter of the size",
              {"float32", "int8"});
}

struct ModelOptions {
  std::string model, file;
  std::string weight_format = "float32";
  index_t max_length = 0;
  index_t batch_size = 32;
  bool plain_text = false;
  bool json = false;
  AttentionOptions attention;

  void add_to(Command& command, const char* what = "lines of text; standard input if absent") {
    command.add_argument("FILE", file, what);
    command.add_input("--model", model, "folder of the model").required();
    add_weight_format(command, weight_format);
    command.add("--max-length", max_length,
                "maximum number of tokens per text; the model's limit if absent", {1, kMany});
    command.add("--batch-size", batch_size, "texts per batch", {1, kMany});
    command.add("--plain-text", plain_text,
                "special tokens in a text, such as [SEP], read as plain text");
    command.add("--json", json, "JSON output, one object per line");
    attention.add_to(command);
  }
};

/// The model of a folder, only for inference: each weight is in memory once.
template <class Load>
auto loaded(const Load& load, const std::string& folder, const std::string& weight_format) {
  const ProfileScope scope("load model");
  auto model = load(folder);
  models::prepack(model,
                  {.format = weight_format == "int8" ? WeightFormat::kInt8 : WeightFormat::kExact});
  return model;
}

/// The same for a task, which is a model with an encoder. Also checks --attention.
template <class Load>
auto loaded(const Load& load, const ModelOptions& o) {
  auto model = loaded(load, o.model, o.weight_format);
  o.attention.check(model.model.encode.encoder);
  return model;
}

/// The names of the lines of a file, or of standard input, in errors.
inline models::TextName line_name(const std::string& file) {
  return [name = input_name(file)](index_t i) { return str_cat(name, ": line ", i + 1); };
}

inline models::TaskOptions task_options(const ModelOptions& o, Progress& progress) {
  return {.max_length = o.max_length,
          .batch_size = o.batch_size,
          .special_in_text = !o.plain_text,
          .progress = [&progress](index_t done, index_t all) { progress.show(done, all); },
          .name = line_name(o.file)};
}

/// Writes the file of --attention for `count` texts; `encode(i)` is text i as encoded for the task.
/// The result of a classifier is its logits.
template <class Task, class Encode>
void write_attention(const AttentionOptions& options, const std::string& about, const Task& task,
                     index_t count, const Encode& encode) {
  AttentionTexts texts = {.about = about,
                          .encoder = task.model.encode,
                          .count = count,
                          .read = [&](index_t i) { return task.reader.tokens(encode(i)); },
                          .token = token_names(*task.reader.tokenizer)};
  if constexpr (std::is_same_v<Task, models::TextClassifier>) {
    texts.result = [&](index_t i) {
      const text::Encoding encoding = encode(i);
      return task.logits(std::span(&encoding, 1));
    };
    texts.is_logits = true;
  }
  write_attention(options, texts);
}

/// The same for lines.
template <class Task>
void write_attention(const ModelOptions& o, const Task& task, const models::TaskOptions& how,
                     const std::vector<std::string>& lines) {
  const text::EncodeOptions encode = task.reader.encode_options(how);
  write_attention(o.attention, o.model, task, std::ssize(lines), [&](index_t i) {
    return task.reader.tokenizer->encode(lines[static_cast<std::size_t>(i)], encode);
  });
}

}  // namespace tessera::examples
