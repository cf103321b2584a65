#include "models/hugging_face/task.h"

#include <algorithm>

#include "models/text/tokenizers.h"
#include "tensor/error.h"
#include "tensor/io/file.h"

namespace tessera::models {

void require_max_length(const char* op, index_t max_length, index_t most) {
  require(max_length >= 0, op, "max_length must be at least 0, got ", max_length);
  require(most == 0 || max_length <= most, op, "max_length must be at most ", most,
          ", the tokens that the model reads, got ", max_length);
}

text::EncodeOptions TextReader::encode_options(const TaskOptions& options) const {
  require_max_length("TaskOptions", options.max_length, max_length);
  return {.max_length = options.max_length > 0 ? options.max_length : max_length,
          .cut = tokenizer->settings().cut,
          .special_in_text = options.special_in_text};
}

TextBatchOptions TextReader::batch_options(const TaskOptions& options) const {
  return {.batch_size = options.batch_size,
          .pad = tokenizer->special().pad.value_or(0),
          .feed_types = feeds_types,
          .progress = options.progress,
          .name = options.name,
          .folder = folder};
}

std::unique_ptr<text::Tokenizer> load_tokenizer_for(const std::filesystem::path& folder,
                                                    index_t rows, const std::string& table) {
  auto tokenizer = text::load_tokenizer(folder);
  const index_t last = tokenizer->size() - 1;
  if (last < rows) return tokenizer;
  std::filesystem::path file = folder;
  for (const char* name : {"vocab.json", "vocab.txt", "tokenizer.json"}) {
    if (std::filesystem::exists(folder / name)) file = folder / name;
  }
  fail_file(file.string(), "token ", printable(tokenizer->token(last)), ": id must be less than ",
            rows, ", the rows of ", table, ", got ", last);
}

std::unique_ptr<text::Tokenizer> load_tokenizer_for(const ModelFolder& folder) {
  constexpr const char* kTable = "embeddings.word_embeddings.weight";
  const std::string place = folder.place(kTable);
  const Shape shape = *folder.shape(kTable);
  return load_tokenizer_for(folder.path, shape.empty() ? 0 : shape[0], place);
}

TextReader load_reader(const ModelFolder& folder) {
  TextReader reader = {.tokenizer = load_tokenizer_for(folder)};
  const text::TokenizerSettings& settings = reader.tokenizer->settings();
  reader.folder = folder.path;
  reader.max_length = folder.encoder.max_tokens;
  if (settings.max_length > 0) reader.max_length = std::min(reader.max_length, settings.max_length);
  // A table of one row is added to every token, whatever types a tokenizer gives.
  reader.feeds_types = settings.feeds_types && folder.encoder.token_types > 1;
  return reader;
}

}  // namespace tessera::models
