// BERT's normalizer.
#pragma once

#include <array>

#include "models/text/detail/characters.h"
#include "models/text/detail/steps.h"

namespace tessera::text {

struct BertNormalizerOptions {
  bool clean_text = true;            // no control characters; white space becomes a space
  bool handle_chinese_chars = true;  // a space before and after each ideograph
  bool strip_accents = true;         // decomposed, without nonspacing marks
  bool lowercase = true;
};

/// Cleans a text, surrounds ideographs by spaces, strips accents and makes it lower case, in this
/// order. ASCII takes a fast path, in place.
/// **Source**: Devlin et al., "BERT", 2018, as in the tokenizers library.
class BertNormalizer {
 public:
  explicit BertNormalizer(const BertNormalizerOptions& options);
  void operator()(AlignedText& text) const;

 private:
  Characters normalized(const Characters& characters) const;

  BertNormalizerOptions options_;
  std::array<char, 128> ascii_;  // the normalised character; 0: none
};

}  // namespace tessera::text
