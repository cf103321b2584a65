// Pre-tokenizers: the third step from a text to tokens.
#pragma once

#include <functional>
#include <vector>

#include "models/text/detail/aligned_text.h"
#include "tensor/io/json.h"

namespace tessera::text {

/// A text and the positions of its words in `text.text`; a token never spans two words.
struct Words {
  AlignedText text;
  std::vector<Span> spans;

  void spend_step() const { text.spend_step(std::ssize(spans)); }
};

/// Divides words into smaller ones, and may rewrite them. At first the whole text is one word.
using PreTokenizer = std::function<void(Words& words)>;

/// The pre-tokenizer that a tokenizer.json describes under "pre_tokenizer".
/// **Errors**: std::runtime_error that names the file and the place: an unknown kind.
PreTokenizer read_pre_tokenizer(const Json& json);

}  // namespace tessera::text
