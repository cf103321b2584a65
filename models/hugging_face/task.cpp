#include "models/hugging_face/task.h"

#include <algorithm>

#include "models/text/tokenizers.h"
#include "tensor/error.h"

namespace tessera::models {

text::EncodeOptions TextReader::encode_options(const TaskOptions& options) const {
  require(options.max_length >= 0, "TaskOptions", "max_length must not be ", options.max_length);
  require(max_length == 0 || options.max_length <= max_length, "TaskOptions", "max_length is ",
          options.max_length, ", but the model reads at most ", max_length, " tokens");
  return {.max_length = options.max_length > 0 ? options.max_length : max_length,
          .cut = tokenizer->settings().cut,
          .special_in_text = options.special_in_text};
}

TextBatchOptions TextReader::batch_options(const TaskOptions& options) const {
  return {.batch_size = options.batch_size,
          .pad = tokenizer->special().pad.value_or(0),
          .feed_types = feeds_types,
          .progress = options.progress,
          .first = options.first};
}

TextReader load_reader(const ModelFolder& folder) {
  TextReader reader = {.tokenizer = text::load_tokenizer(folder.path)};
  const text::TokenizerSettings& settings = reader.tokenizer->settings();
  reader.max_length = folder.encoder.max_tokens;
  if (settings.max_length > 0) reader.max_length = std::min(reader.max_length, settings.max_length);
  // A table of one row is added to every token, whatever types a tokenizer gives.
  reader.feeds_types = settings.feeds_types && folder.encoder.token_types > 1;
  return reader;
}

}  // namespace tessera::models
