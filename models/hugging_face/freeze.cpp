#include "models/hugging_face/freeze.h"

#include <variant>

namespace tessera::models {

void freeze(SentenceEncoder& encoder, WeightFormat format) {
  if (auto* const words = std::get_if<TokenEncoder>(&encoder.words)) nn::freeze(*words, format);
  for (SentenceModule& module : encoder.modules) {
    if (auto* const dense = std::get_if<Dense>(&module)) nn::freeze(dense->linear, format);
  }
}

}  // namespace tessera::models
