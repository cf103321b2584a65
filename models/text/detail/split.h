// Splits words at delimiters.
#pragma once

#include <optional>
#include <vector>

#include "models/text/detail/steps.h"

namespace tessera::text {

/// The treatment of a delimiter, for "the-final--countdown" split at "-":
enum class SplitBehavior {
  kRemoved,             // the|final|countdown
  kIsolated,            // the|-|final|-|-|countdown
  kMergedWithPrevious,  // the-|final-|-|countdown
  kMergedWithNext,      // the|-final|-|-countdown
  kContiguous,          // the|-|final|--|countdown
};

/// The behavior in the key "behavior"; `otherwise` if it is absent.
SplitBehavior read_behavior(const Json& json, SplitBehavior otherwise);

/// Appends the words made from the parts of one word; none is empty.
class WordCutter {
 public:
  WordCutter(SplitBehavior behavior, std::vector<Span>& words)
      : behavior_(behavior), words_(words), before_(std::ssize(words)) {}
  /// Adds the next part.
  void add(Span bytes, bool is_delimiter);
  /// Must be called after the last part.
  void finish();

 private:
  SplitBehavior behavior_;
  std::vector<Span>& words_;
  index_t before_;                              // the number of words before this one
  std::optional<bool> last_is_delimiter_ = {};  // nullopt: no part yet
};

/// Splits words at characters of one kind.
void split_at_kind(bool (*is_delimiter)(char32_t), SplitBehavior behavior, Words& words);
/// Splits words at one character.
void split_at(char32_t delimiter, SplitBehavior behavior, Words& words);

}  // namespace tessera::text
