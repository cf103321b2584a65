// Where words are cut, and what becomes of the places where they are.
#pragma once

#include <vector>

#include "models/text/pipeline/pre_tokenizer.h"

namespace tessera::text {

/// What becomes of a delimiter; of "the-final--countdown", cut at "-":
enum class SplitBehavior {
  kRemoved,             // the|final|countdown
  kIsolated,            // the|-|final|-|-|countdown
  kMergedWithPrevious,  // the-|final-|-|countdown
  kMergedWithNext,      // the|-final|-|-countdown
  kContiguous,          // the|-|final|--|countdown
};

/// The behavior that the key "behavior" names; `otherwise` where it is absent.
SplitBehavior read_behavior(const Json& json, SplitBehavior otherwise);

/// A part of a word: a delimiter, or what is between two.
struct Cut {
  Span bytes;
  bool is_delimiter;
};

/// The words that the parts of one word become; none is empty.
void append_words(const std::vector<Cut>& cuts, SplitBehavior behavior, std::vector<Span>& words);

/// Cuts words where a character is of a kind.
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

/// Cuts words where a character is this one.
void split_at(char32_t delimiter, SplitBehavior behavior, Words& words);

}  // namespace tessera::text
