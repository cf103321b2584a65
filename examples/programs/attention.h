// --attention FILE of programs that run an encoder: its attention weights, as a page (.html) or as
// a picture (.svg).
#pragma once

#include <functional>
#include <string>
#include <vector>

#include "examples/programs/cli.h"
#include "models/text/tokenizer.h"
#include "models/token_encoder.h"

namespace tessera::examples {

struct AttentionOptions {
  std::string file;    // .html or .svg; empty: no file
  std::string layers;  // as in "0,2-5"; empty: all
  std::string heads;   // the same
  bool ablation = false;

  void add_to(Command& command);
  /// **Errors**: std::invalid_argument: a name that does not end in .html or .svg; layers or heads
  /// that `encoder` does not have; options without a file; ablation without a page.
  void check(const models::Encoder& encoder) const;
};

/// The texts of an attention file, and the model that reads them.
struct AttentionTexts {
  std::string about;  // a line about the model
  const models::TokenEncoder& encoder;
  index_t count = 0;
  std::function<models::Tokens(index_t text)> read;  // a batch of one text
  std::function<std::string(index_t id)> token;      // the text of a token
  /// The model's result for a text; by default the encoder's output. --attention-ablation computes
  /// how much the result changes without a head: 1 - cosine or, for logits, the decrease of the
  /// largest one.
  std::function<Tensor(index_t text)> result = {};
  std::string result_name = "the output vectors";
  bool is_logits = false;
};

/// Writes the file, completely or not at all; without --attention, does nothing. A page has the
/// first texts, at most 8 and those that fit; a picture has the first text, the last of the layers
/// and the mean of the heads. Weights have the same bits as those that the encoder computes with.
/// **Errors**: as check(); no text; a text that is too long for a page; as write_file().
void write_attention(const AttentionOptions& options, const AttentionTexts& texts);

/// AttentionTexts::token of a tokenizer, which must outlive it.
inline std::function<std::string(index_t id)> token_names(const text::Tokenizer& tokenizer) {
  return [&tokenizer](index_t id) { return std::string(tokenizer.token(id)); };
}

}  // namespace tessera::examples
