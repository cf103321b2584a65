// The option --attention FILE: a page with the attention weights of the program's encoder.
#pragma once

#include <functional>
#include <string>
#include <vector>

#include <tessera/models/hugging_face/text_reader.h>
#include <tessera/models/text/tokenizer.h>
#include <tessera/models/token_encoder.h>
#include "examples/programs/cli.h"

namespace tessera::examples {

struct AttentionOptions {
  std::string file;    // .html; empty: no file
  std::string layers;  // as in "0,2-5"; empty: all
  std::string heads;   // the same
  bool ablation = false;

  void add_to(Command& command);
  /// **Errors**: std::invalid_argument: a name that does not end in .html; layers or heads that
  /// `encoder` does not have; options without a file.
  void check(const models::Encoder& encoder) const;
};

/// The texts of an attention file, and the model that reads them.
struct AttentionTexts {
  std::string about;  // a line about the model
  const models::TokenEncoder& encoder;
  const models::TextReader& reader;
  std::vector<text::Encoding> encodings;
  /// The model's result for a text; by default the encoder's output. --attention-ablation computes
  /// how much the result changes without a head: 1 - cosine or, for logits, the decrease of the
  /// largest one.
  std::function<Tensor(const text::Encoding& text)> result = {};
  std::string result_name = "the output vectors";
  bool is_logits = false;
};

/// Writes the page, completely or not at all; without --attention, does nothing. The page has the
/// first texts, at most 8 and those that fit. Weights are bitwise equal to those that the
/// encoder computes with.
/// **Errors**: as check(); no text; a text that is too long for a page; as write_file().
void write_attention(const AttentionOptions& options, const AttentionTexts& texts);

}  // namespace tessera::examples
