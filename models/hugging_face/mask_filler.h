// Fill-mask: predicts masked tokens of texts by a pretrained model.
//
//   const models::MaskFiller model = models::load_mask_filler("bert-base-uncased");
//   const auto results = model({"The capital of France is " + model.mask() + "."});
//   results[0][0].fillings[0].token;      // "paris"
#pragma once

#include <filesystem>
#include <span>
#include <string>
#include <vector>

#include "tessera/models/hugging_face/text_reader.h"
#include "tessera/models/masked_lm.h"

namespace tessera::models {

/// A prediction for a masked token.
struct Filling {
  index_t id;
  std::string token;  // as text
  std::string text;   // the whole text with the token, as decoded by the tokenizer
  double score;       // the probability among all tokens of the vocabulary
};

/// The predictions for one masked token.
struct Blank {
  text::Span bytes;               // of the mask, in the given text
  std::vector<Filling> fillings;  // the most probable first
};

/// The options of MaskFiller.
struct FillingOptions {
  index_t top_k = 5;      // predictions for each masked token
  TaskOptions task = {};  // split_special_tokens is ignored: a mask is a special token
};

/// A masked language model with its tokenizer.
/// **Source**: transformers.FillMaskPipeline.
struct MaskFiller {
  TextReader reader;
  MaskedLM model;

  /// The text of a mask, such as "[MASK]" or "<mask>". **Errors**: no tokenizer, or one without
  /// a mask token.
  std::string mask() const;

  /// The masked tokens of each text, in text order.
  /// **Errors**: as mask, TextReader::encode_options, Tokenizer::encode and TextReader::each_row; a
  /// top_k below 1; a text without a mask, or whose mask is truncated by the maximum length.
  std::vector<std::vector<Blank>> operator()(text::ListOf<std::string> texts,
                                             const FillingOptions& options = {}) const;
};

/// The masked language model in a folder. **Errors**: as load_text_classifier; a tokenizer without
/// a mask token. **Source**: transformers.AutoModelForMaskedLM.from_pretrained.
MaskFiller load_mask_filler(const std::filesystem::path& folder);

}  // namespace tessera::models
