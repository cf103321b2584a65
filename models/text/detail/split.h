// Cuts words at delimiters.
#pragma once

#include <optional>
#include <vector>

#include "models/text/detail/pre_tokenizer.h"

namespace tessera::text {

/// What becomes of a delimiter; of "the-final--countdown", cut at "-":
enum class SplitBehavior {
  kRemoved,             // the|final|countdown
  kIsolated,            // the|-|final|-|-|countdown
  kMergedWithPrevious,  // the-|final-|-|countdown
  kMergedWithNext,      // the|-final|-|-countdown
  kContiguous,          // the|-|final|--|countdown
};

/// The behavior that the key "behavior" names; `otherwise` if it is absent.
SplitBehavior read_behavior(const Json& json, SplitBehavior otherwise);

/// Appends the words that the parts of one word become; none is empty.
class WordCutter {
 public:
  WordCutter(SplitBehavior behavior, std::vector<Span>& words)
      : behavior_(behavior), words_(words), before_(std::ssize(words)) {}
  /// The next part.
  void add(Span bytes, bool is_delimiter);
  /// Comes after the last part.
  void finish();

 private:
  SplitBehavior behavior_;
  std::vector<Span>& words_;
  index_t before_;                              // the words of other words
  std::optional<bool> last_is_delimiter_ = {};  // nothing: there is no last part
};

/// Cuts words at characters of a kind.
class CharacterSplit final : public PreTokenizer {
 public:
  using Kind = bool (*)(char32_t);
  CharacterSplit(Kind is_delimiter, SplitBehavior behavior)
      : is_delimiter_(is_delimiter), behavior_(behavior) {}
  void apply(Words& words) const override;

 private:
  Kind is_delimiter_;
  SplitBehavior behavior_;
};

/// Cuts words at one character.
void split_at(char32_t delimiter, SplitBehavior behavior, Words& words);

}  // namespace tessera::text
