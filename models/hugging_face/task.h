// The common parts of the models in this folder that read text.
#pragma once

#include <filesystem>
#include <functional>
#include <memory>

#include "models/hugging_face/batches.h"
#include "models/hugging_face/folder.h"
#include "models/text/tokenizer.h"

namespace tessera::models {

/// How a call goes about its texts.
struct TaskOptions {
  index_t max_length = 0;       // in tokens: longer texts are cut; 0: the most that the model reads
  index_t batch_size = 32;      // of texts computed together; changes no bit
  bool special_in_text = true;  // false: a "[SEP]" that a text spells out is text like any other
  std::function<void(index_t done, index_t all)> progress = {};  // called by one thread at a time
  TextName name = {};  // what errors call a text; empty: "text 3"
};

/// **Errors**: a max_length below 0, or above `most`, the tokens that a model reads (0: any number).
void require_max_length(const char* op, index_t max_length, index_t most);

/// A tokenizer and what its model can read.
struct TextReader {
  std::unique_ptr<text::Tokenizer> tokenizer;
  index_t max_length = 0;  // in tokens, the special ones included; 0: no limit
  bool feeds_types = true;
  std::filesystem::path folder = {};  // of the model; empty: it comes from none

  /// How texts are encoded for a call. **Errors**: a max_length below 0, or above the model's.
  text::EncodeOptions encode_options(const TaskOptions& options) const;
  TextBatchOptions batch_options(const TaskOptions& options) const;
};

/// The tokenizer in a folder, for a model whose table of embeddings has `rows` rows; `table` names
/// the table and its file. **Errors**: as load_tokenizer; a token whose id has no row.
std::unique_ptr<text::Tokenizer> load_tokenizer_for(const std::filesystem::path& folder,
                                                    index_t rows, const std::string& table);
/// The same for the model in the folder.
std::unique_ptr<text::Tokenizer> load_tokenizer_for(const ModelFolder& folder);

/// The tokenizer in a model's folder. Its limit is the model's or, if that is less, the
/// tokenizer's.
TextReader load_reader(const ModelFolder& folder);

}  // namespace tessera::models
