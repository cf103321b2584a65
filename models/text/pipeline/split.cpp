#include "models/text/pipeline/split.h"

#include <algorithm>
#include <utility>

#include "models/text/unicode.h"

namespace tessera::text {

SplitBehavior read_behavior(const Json& json, SplitBehavior otherwise) {
  const auto value = json.find("behavior");
  if (!value) return otherwise;
  const std::string_view name = value->text();
  if (name == "Removed") return SplitBehavior::kRemoved;
  if (name == "Isolated") return SplitBehavior::kIsolated;
  if (name == "MergedWithPrevious") return SplitBehavior::kMergedWithPrevious;
  if (name == "MergedWithNext") return SplitBehavior::kMergedWithNext;
  if (name == "Contiguous") return SplitBehavior::kContiguous;
  value->fail("wanted Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous, got ",
              value->described());
}

void append_words(const std::vector<Cut>& cuts, SplitBehavior behavior, std::vector<Span>& words) {
  const auto before = std::ssize(words);
  for (std::size_t i = 0; i < cuts.size(); ++i) {
    const Cut& cut = cuts[i];
    bool joins_last = false;
    switch (behavior) {
      case SplitBehavior::kRemoved:
        if (cut.is_delimiter) continue;
        break;
      case SplitBehavior::kIsolated:
        break;
      case SplitBehavior::kMergedWithPrevious:
        joins_last = i > 0 && cut.is_delimiter && !cuts[i - 1].is_delimiter;
        break;
      case SplitBehavior::kMergedWithNext:
        joins_last = i > 0 && !cut.is_delimiter && cuts[i - 1].is_delimiter;
        break;
      case SplitBehavior::kContiguous:
        joins_last = i > 0 && cut.is_delimiter == cuts[i - 1].is_delimiter;
        break;
    }
    if (joins_last) {
      words.back().end = cut.bytes.end;
    } else {
      words.push_back(cut.bytes);
    }
  }
  // A pattern may match where there is nothing.
  words.erase(std::remove_if(words.begin() + before, words.end(),
                             [](Span word) { return word.begin == word.end; }),
              words.end());
}

namespace {

template <class IsDelimiter>
void split(Words& words, SplitBehavior behavior, IsDelimiter is_delimiter) {
  std::vector<Span> result;
  std::vector<Cut> cuts;
  for (const Span word : words.spans) {
    cuts.clear();
    index_t start = word.begin;  // of what is no delimiter
    for (index_t at = word.begin; at < word.end;) {
      const char32_t code = code_point_at(words.text.text, static_cast<std::size_t>(at));
      const index_t next = at + static_cast<index_t>(utf8_size(code));
      if (is_delimiter(code)) {
        if (start < at) cuts.push_back({{start, at}, false});
        cuts.push_back({{at, next}, true});
        start = next;
      }
      at = next;
    }
    if (start < word.end) cuts.push_back({{start, word.end}, false});
    append_words(cuts, behavior, result);
  }
  words.spans = std::move(result);
}

}  // namespace

void CharacterSplit::apply(Words& words) const {
  split(words, behavior_, is_delimiter_);
}

void split_at(char32_t delimiter, SplitBehavior behavior, Words& words) {
  split(words, behavior, [=](char32_t code) { return code == delimiter; });
}

}  // namespace tessera::text
