// Regular expressions, with the features that tokenizers use.
#pragma once

#include <string_view>
#include <vector>

#include "tessera/models/text/detail/aligned_text.h"
#include "tessera/models/text/detail/expression.h"
#include "tessera/models/text/tokenizer.h"
#include "tessera/tensor/io/json.h"

namespace tessera::text {

/// A compiled regular expression over code points, in Oniguruma's syntax.
///
/// Supported are: literals and escapes; `.`; classes with ranges, classes inside classes and
/// `[:posix:]` names; \s \w \d \h \p{L} \p{Lu} ... and their negations; `|`; groups (), (?:),
/// (?i:); (?=), (?!), (?>); ^ $ \A \z; and * + ? {m,n}, also lazy (`*?`) and possessive (`*+`). If
/// case is ignored, ASCII and one-to-one lower case are considered.
///
/// **Errors** of reading: std::runtime_error that names the place and the unsupported part:
/// lookbehind, backreferences, \b, ... **Errors** of matching: as Effort, reached only by
/// expressions with exponential time.
class Pattern {
 public:
  /// A JSON object {"Regex": expression} or {"String": text}; a text is literal.
  explicit Pattern(const Json& json);

  /// The matches in bytes [word.begin, word.end) of `text`, from left to right, without overlap.
  /// Only these bytes are read. Empty matches are included. Steps are counted in `effort`; without
  /// it, as for a text that consists of the word.
  void find(std::string_view text, Span word, std::vector<Span>& matches,
            Effort* effort = nullptr) const;

 private:
  Expression expression_;
};

}  // namespace tessera::text
