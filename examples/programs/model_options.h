// Programs that run a pretrained model on lines of text: their options and their common steps.
//
//   return command.run(argc, argv, [&] {
//     examples::LineRun run(models::load_token_tagger, options);
//     run.print(run.model(run.lines, run.task), [&](const auto& tags, std::size_t i) { ... });
//     run.write_attention();
//   });
#pragma once

#include <span>
#include <string>
#include <type_traits>
#include <vector>

#include "examples/programs/attention_file.h"
#include "examples/programs/command.h"
#include "examples/programs/progress.h"
#include "models/hugging_face/sentence_encoder.h"
#include "models/hugging_face/task.h"
#include "models/hugging_face/text_classifier.h"
#include "tensor/error.h"
#include "tensor/profile_span.h"

namespace tessera::examples {

struct ModelOptions {
  std::string model, file;
  std::string weight_format = "float32";
  index_t max_length = 0;
  index_t batch_size = 32;
  bool plain_text = false;
  bool json = false;
  AttentionFileOptions attention;
};

inline void add_weight_format_option(Command& command, std::string& weight_format) {
  command.add("--weight-format", weight_format,
              "format of the weights in memory: full or a quarter of the size",
              {"float32", "int8"});
}

inline void add_model_options(Command& command, ModelOptions& options, const char* file_is) {
  command.add_argument("FILE", options.file, file_is);
  command.add_input("--model", options.model, "folder of the model").required();
  add_weight_format_option(command, options.weight_format);
  command.add("--max-length", options.max_length,
              "maximum number of tokens per text; the model's limit if absent", {1, kMany});
  command.add("--batch-size", options.batch_size, "texts per batch", {1, kMany});
  command.add("--plain-text", options.plain_text,
              "special tokens in a text, such as [SEP], read as plain text");
  command.add("--json", options.json, "JSON output, one object per line");
  add_attention_options(command, options.attention);
}

/// The model of a folder, only for inference: each weight is in memory once.
template <class Load>
auto loaded(const Load& load, const std::string& folder, const std::string& weight_format) {
  const ProfileScope scope("load model");
  auto model = load(folder);
  models::prepack(model,
                  {.format = weight_format == "int8" ? WeightFormat::kInt8 : WeightFormat::kExact});
  return model;
}

/// Writes the file of --attention for `count` texts. `encode(i)` is text i as encoded for the task.
/// The result of a classifier is its logits.
template <class Task, class Encode>
void write_attention(const AttentionFile& file, const Task& task, index_t count,
                     const Encode& encode) {
  AttentionTexts texts = attention_texts(count, *task.reader.tokenizer, task.model.encode,
                                         [&](index_t i) { return task.reader.tokens(encode(i)); });
  if constexpr (std::is_same_v<Task, models::TextClassifier>) {
    const auto logits = [&](index_t i) {
      const text::Encoding encoding = encode(i);
      return task.logits(std::span(&encoding, 1));
    };
    texts.result = {.of = logits, .name = "the logits", .is_logits = true};
  }
  file.write(texts);
}

/// The names of lines in errors, for a file or standard input.
inline models::TextName line_name(const std::string& file) {
  return
      [input = input_name(file)](index_t number) { return str_cat(input, ": line ", number + 1); };
}

/// The model of a task, and the lines to run it on. The constructor loads the model, then checks
/// --attention, then reads the lines, so their errors come in this order.
template <class Model>
struct LineRun {
  template <class Load>
  LineRun(const Load& load, const ModelOptions& options)
      : model(loaded(load, options.model, options.weight_format)),
        attention(options.attention, model.model.encode.encoder, options.model),
        lines(input_lines(options.file)),
        progress("lines"),
        task{.max_length = options.max_length,
             .batch_size = options.batch_size,
             .special_in_text = !options.plain_text,
             .progress = [this](index_t done, index_t all) { progress.show(done, all); },
             .name = line_name(options.file)} {}
  LineRun(const LineRun&) = delete;
  LineRun& operator=(const LineRun&) = delete;

  /// Calls print(result, i) for the result of each line i.
  template <class Result, class Print>
  void print(const std::vector<Result>& results, const Print& print) {
    progress.clear();
    for (std::size_t i = 0; i < results.size(); ++i) print(results[i], i);
  }

  /// Writes --attention for the lines, or for `count` texts made by encode(i).
  void write_attention() const {
    const text::EncodeOptions encode = model.reader.encode_options(task);
    write_attention(std::ssize(lines), [&](index_t i) {
      return model.reader.tokenizer->encode(lines[static_cast<std::size_t>(i)], encode);
    });
  }
  template <class Encode>
  void write_attention(index_t count, const Encode& encode) const {
    examples::write_attention(attention, model, count, encode);
  }

  Model model;
  AttentionFile attention;
  std::vector<std::string> lines;
  CommandProgress progress;
  models::TaskOptions task;
};
template <class Load>
LineRun(const Load& load, const ModelOptions& options) -> LineRun<decltype(load(options.model))>;

}  // namespace tessera::examples
