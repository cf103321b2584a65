// Feeds texts to pretrained models: as tokens, in batches of similar lengths, on all threads.
//
//   const auto encodings = reader.tokenizer->encode_batch(texts, reader.encode_options(options));
//   reader.each_row(encodings, options,
//                   [&](const Tokens& tokens) { return model(tokens); },          // (B, ...)
//                   [&](index_t text, std::span<const float> row) { ... });       // of each text
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <span>
#include <stdexcept>
#include <string>
#include <vector>

#include "tessera/models/hugging_face/folder.h"
#include "tessera/models/text/tokenizer.h"
#include "tessera/models/tokens.h"
#include "tessera/nn/prepack.h"

namespace tessera::models {

/// The name of the text with index `number` in errors, such as "lines.txt: line 4".
using TextName = std::function<std::string(index_t number)>;

/// A model's output is NaN or infinite, although its weights are finite.
class NotFinite : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// `name(number)`; if `name` is empty, "text 3" for the number 3.
std::string text_name(const TextName& name, index_t number);

/// Throws NotFinite, naming the text, if a model's output for this text is not finite.
void require_finite_outputs(std::span<const float> outputs, const TextName& name, index_t number);

/// The options of a call on texts.
///
///     model.encode(texts, {.batch_size = 8, .prompt_name = "query"});
struct TaskOptions {
  index_t max_length = 0;             // in tokens: longer texts are truncated; 0: the model's
  index_t batch_size = 32;            // the largest number of texts computed together
  bool split_special_tokens = false;  // true: a "[SEP]" written in a text is ordinary text
  // Called after each batch, with the number of finished texts, by one thread at a time.
  std::function<void(index_t done, index_t all)> progress = {};
  TextName name = {};               // the names of texts in errors; empty: "text 3" for text 3
  text::CutReport report_cut = {};  // called if texts are truncated

  // Only TokenTagger reads this: a text that is too long is read in windows, and neighbouring
  // windows share this number of tokens. Absent: the text is truncated.
  std::optional<index_t> stride = {};

  // Only encoders of sentences read these; the last two only SentenceEncoder.
  std::optional<std::string> prompt = {};       // prepended to each text
  std::optional<std::string> prompt_name = {};  // the name of the folder's prompt to prepend
  index_t truncate_dim = 0;           // leading columns to keep; 0: the folder's number, or all
  bool normalize_embeddings = false;  // scale embeddings to norm 1, also without a Normalize
};

/// **Errors**: a max_length below 0, or above `most`, the model's maximum (0: no limit).
void require_max_length(const char* op, index_t max_length, index_t most);

/// A tokenizer and the limits of its model.
struct TextReader {
  std::shared_ptr<const text::Tokenizer> tokenizer = {};
  index_t max_length = 0;             // in tokens, including special ones; 0: no limit
  bool feeds_type_ids = true;         // token types are passed to the model, unless all are 0
  bool add_special_tokens = true;     // whether encode_options adds the tokenizer's special tokens
  std::filesystem::path folder = {};  // of the model; empty: not from a folder
  std::optional<text::Side> truncation_side =
      {};                                  // the end that is truncated; absent: the tokenizer's
  std::vector<std::string> warnings = {};  // contradictions in the folder's files, to print

  /// The options to encode texts for a call. **Errors**: no tokenizer; a max_length below 0, or
  /// above the model's.
  text::EncodeOptions encode_options(const TaskOptions& options) const;

  /// The encodings of texts, or of pairs of texts. **Errors**: as encode_options and
  /// Tokenizer::encode_batch.
  template <class Text>
  std::vector<text::Encoding> encode_batch(std::span<const Text> texts,
                                           const TaskOptions& options) const {
    const text::EncodeOptions encode = encode_options(options);  // checks the tokenizer
    std::vector<text::Encoding> encodings = tokenizer->encode_batch(texts, encode);
    text::report_cut(encodings, encode.max_length, options.report_cut);
    return encodings;
  }

  /// One encoding as a batch of one text. **Shapes**: (1, T). **Errors**: more types than ids.
  Tokens tokens(const text::Encoding& encoding) const;

  /// Divides the encodings into batches, the longest first and similar lengths together, so that
  /// there is little padding, and calls `body(tokens, chosen)` for each batch. `chosen` are the
  /// indices of the batch's encodings.
  ///
  /// Several threads call `body` at once, each with its own batch. So `body` must write only to
  /// results of its chosen encodings. Inside `body` every op runs in the calling thread, and no
  /// tape records. The model's output for an encoding is batch invariant.
  ///
  /// **Errors**: batch_size below 1; an encoding without a token, or with more types than ids; the
  /// exception of the first batch for which `body` throws, as by with_finite_outputs.
  void for_each_batch(
      std::span<const text::Encoding> encodings, const TaskOptions& options,
      const std::function<void(const Tokens& tokens, std::span<const index_t> chosen)>& body) const;

  /// Calls `use(text, row)` for each encoding: `text` is the encoding's index, and `row` the
  /// encoding's row of `model(tokens)`, flattened. **Errors**: as for_each_batch; an output that is
  /// not float32, or without a row for each text; NotFinite: an output that is not finite.
  void each_row(std::span<const text::Encoding> encodings, const TaskOptions& options,
                const std::function<Tensor(const Tokens& tokens)>& model,
                const std::function<void(index_t text, std::span<const float> row)>& use) const;

  /// Calls `body`. If it throws NotFinite because a weight in the folder is not finite, throws a
  /// std::runtime_error that names the weight's file, tensor and element instead. **Errors**: also
  /// the exceptions of `body`.
  void with_finite_outputs(const std::function<void()>& body) const;
};

/// The tokenizer in a folder, for a model whose table of embeddings has `rows` rows. `table` names
/// the table and its file in errors. The tokens of Tokenizer::special need no row, unless
/// a text has them. **Errors**: as load_tokenizer; another token whose id has no row.
std::unique_ptr<text::Tokenizer> load_tokenizer_for(const std::filesystem::path& folder,
                                                    index_t rows, const std::string& table);

/// The tokenizer in a model's folder. The limit of the reader is `max_length` or, if `max_length`
/// is 0, the tokenizer's limit, but never more than the model's.
/// **Errors**: as load_tokenizer_for; files without a table of word embeddings.
TextReader load_reader(const ModelFolder& folder, index_t max_length = 0);

/// The result of the loaders of tasks: a reader of texts and a model.
template <class Task>
concept TaskModel = requires(Task& task) {
  task.reader;
  task.model;
};

/// A copy of `options`. If the format is kInt8 and `keep` is empty, `keep` of the copy accepts all
/// weights outside the layers, such as a head's or a pooler's: these weights stay kExact.
nn::PrepackOptions with_kept_heads(const nn::PrepackOptions& options);

/// nn::prepack of a TextClassifier, a TokenTagger, a QuestionAnswerer or a MaskFiller. The task is
/// then only for inference. Each weight is then in memory once: weights are packed one by one, and
/// the file's pages are released. Tables of embeddings stay mapped from the file. With kExact
/// results keep their bits. With kInt8 and without `keep`, only weights of layers are rounded.
/// **Errors**: as nn::prepack.
template <TaskModel Task>
void prepack(Task& task, const nn::PrepackOptions& options = {}) {
  nn::prepack(task.model, with_kept_heads(options));
}

}  // namespace tessera::models
