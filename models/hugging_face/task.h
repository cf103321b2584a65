// How pretrained models read texts: as tokens, in batches of similar lengths, on all threads.
//
//   const auto encodings = reader.tokenizer->encode_all(texts, reader.encode_options(options));
//   reader.each_row(encodings, options,
//                   [&](const Tokens& tokens) { return model(tokens); },          // (B, ...)
//                   [&](index_t text, std::span<const float> row) { ... });       // of each text
#pragma once

#include <filesystem>
#include <functional>
#include <memory>
#include <span>
#include <stdexcept>
#include <string>

#include "models/hugging_face/folder.h"
#include "models/text/tokenizer.h"
#include "models/tokens.h"
#include "nn/freeze.h"

namespace tessera::models {

/// The name that errors give to text `number`, such as "lines.txt: line 4".
using TextName = std::function<std::string(index_t number)>;

/// A model's output is NaN or infinite, though its weights are not.
class NotFinite : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

/// `name(number)`; without a name, "text 3".
std::string text_name(const TextName& name, index_t number);

/// Throws NotFinite, naming the text, unless all of a model's outputs for this text are finite.
void require_finite_outputs(std::span<const float> outputs, const TextName& name, index_t number);

/// The options of a call on texts.
struct TaskOptions {
  index_t max_length = 0;       // in tokens: longer texts are cut; 0: the most that the model reads
  index_t batch_size = 32;      // of texts computed together, at most; changes no bit
  bool special_in_text = true;  // false: a "[SEP]" that a text spells out is text like any other
  std::function<void(index_t done, index_t all)> progress = {};  // called by one thread at a time
  TextName name = {};  // what errors call a text; empty: "text 3"
};

/// **Errors**: a max_length below 0, or above `most`, the tokens that a model reads (0: any number).
void require_max_length(const char* op, index_t max_length, index_t most);

/// A tokenizer and what its model can read.
struct TextReader {
  std::shared_ptr<const text::Tokenizer> tokenizer = {};
  index_t max_length = 0;   // in tokens, the special ones included; 0: no limit
  bool feeds_types = true;  // token types are passed to the model, unless all are 0
  bool adds_special = true;
  std::filesystem::path folder = {};  // of the model; empty: it was not loaded from a folder

  /// How texts are encoded for a call. **Errors**: a max_length below 0, or above the model's.
  text::EncodeOptions encode_options(const TaskOptions& options) const;

  /// One encoding as a batch of one text. **Shapes**: (1, T).
  Tokens tokens(const text::Encoding& encoding) const;

  /// Cuts the encodings into batches, the longest first and similar lengths together, so that
  /// little is padding, and calls `body(tokens, chosen)` for each batch. `chosen` are the indices
  /// of its encodings.
  ///
  /// Several threads call `body` at once, each with a batch of its own. Inside `body` every op runs
  /// in the calling thread, and no tape records. So `body` must write only to results of its chosen
  /// encodings. The batch of an encoding changes no bit of the model's output.
  ///
  /// **Errors**: batch_size below 1; an encoding without a token; the exception of the first batch
  /// for which `body` throws. If that is NotFinite and a weight in the folder is not finite, a
  /// std::runtime_error that names the weight replaces it.
  void for_each_batch(
      std::span<const text::Encoding> encodings, const TaskOptions& options,
      const std::function<void(const Tokens& tokens, std::span<const index_t> chosen)>& body) const;

  /// Calls `use(text, row)` for each encoding: its index, and its row of `model(tokens)`,
  /// flattened. **Errors**: as for_each_batch; NotFinite: an output that is not finite.
  void each_row(std::span<const text::Encoding> encodings, const TaskOptions& options,
                const std::function<Tensor(const Tokens& tokens)>& model,
                const std::function<void(index_t text, std::span<const float> row)>& use) const;
};

/// The tokenizer in a folder, for a model whose table of embeddings has `rows` rows; `table` names
/// the table and its file. **Errors**: as load_tokenizer; a token whose id has no row.
std::unique_ptr<text::Tokenizer> load_tokenizer_for(const std::filesystem::path& folder,
                                                    index_t rows, const std::string& table);

/// The tokenizer in a model's folder. Its limit is `max_length` or, if that is 0, the tokenizer's,
/// but at most the model's.
TextReader load_reader(const ModelFolder& folder, index_t max_length = 0);

/// The result of the loaders of tasks: a reader of texts and a model.
template <class Task>
concept TaskModel = requires(Task& task) {
  task.reader;
  task.model;
};

/// `options`; if the format is kInt8 and no `keep` is given, with a `keep` that accepts all
/// weights outside the layers, such as a head's or a pooler's.
nn::FreezeOptions with_kept_heads(const nn::FreezeOptions& options);

/// nn::freeze of a TextClassifier, a TokenTagger, a QuestionAnswerer or a MaskFiller,
/// for inference only. Weights are packed one by one, each is held once, and the file's pages are
/// released; tables of embeddings stay mapped. With kExact no bit of any result changes; with kInt8
/// and no `keep`, only weights of layers are rounded.
template <TaskModel Task>
void freeze(Task& task, const nn::FreezeOptions& options = {}) {
  nn::freeze(task.model, with_kept_heads(options));
}

}  // namespace tessera::models
