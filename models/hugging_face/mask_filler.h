// Fills blanks in texts with words, by a pretrained model.
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

/// A token in a blank.
struct Filling {
  index_t id;
  std::string token;  // as text
  std::string text;   // the whole text with the token, as decoded by the tokenizer
  double score;       // the probability among all tokens of the vocabulary
};

/// The fillings of one blank.
struct Blank {
  text::Span bytes;               // of the mask, in the given text
  std::vector<Filling> fillings;  // the most likely first
};

/// The options of MaskFiller.
struct FillingOptions {
  index_t top_k = 5;      // of fillings for each blank
  TaskOptions task = {};  // split_special_tokens is ignored: a blank is a special token
};

/// A masked language model with its tokenizer.
/// **Source**: transformers.FillMaskPipeline.
struct MaskFiller {
  TextReader reader;
  MaskedLM model;

  /// The text of a blank, such as "[MASK]" or "<mask>". **Errors**: no tokenizer, or one without
  /// a mask token.
  std::string mask() const;

  /// The blanks of each text, in text order.
  /// **Errors**: as mask, TextReader::encode_options, Tokenizer::encode and TextReader::each_row; a
  /// top_k below 1; a text without a blank, or with a blank beyond the maximum length, which is cut
  /// off.
  std::vector<std::vector<Blank>> operator()(text::ListOf<std::string> texts,
                                             const FillingOptions& options = {}) const;
};

/// The masked language model in a folder. **Errors**: as load_text_classifier; a tokenizer without
/// a mask token. **Source**: transformers.AutoModelForMaskedLM.from_pretrained.
MaskFiller load_mask_filler(const std::filesystem::path& folder);

}  // namespace tessera::models
