#include "models/text/detail/split.h"

#include <algorithm>
#include <utility>

#include "models/text/detail/unicode.h"

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
  value->fail("must be Removed, Isolated, MergedWithPrevious, MergedWithNext or Contiguous, got ",
              value->described());
}

void WordCutter::add(Span bytes, bool is_delimiter) {
  const std::optional<bool> last = std::exchange(last_is_delimiter_, is_delimiter);
  bool joins_last = false;
  switch (behavior_) {
    case SplitBehavior::kRemoved:
      if (is_delimiter) return;
      break;
    case SplitBehavior::kIsolated:
      break;
    case SplitBehavior::kMergedWithPrevious:
      joins_last = is_delimiter && last == false;
      break;
    case SplitBehavior::kMergedWithNext:
      joins_last = !is_delimiter && last == true;
      break;
    case SplitBehavior::kContiguous:
      joins_last = is_delimiter == last;
      break;
  }
  if (joins_last) {
    words_.back().end = bytes.end;
  } else {
    words_.push_back(bytes);
  }
}

void WordCutter::finish() {
  // A pattern may match an empty text.
  words_.erase(std::remove_if(words_.begin() + before_, words_.end(),
                              [](Span word) { return word.begin == word.end; }),
               words_.end());
}

namespace {

template <class IsDelimiter>
void split(Words& words, SplitBehavior behavior, IsDelimiter is_delimiter) {
  std::vector<Span> result;
  for (const Span word : words.spans) {
    WordCutter cutter(behavior, result);
    index_t start = word.begin;  // of the text between delimiters
    for (index_t at = word.begin; at < word.end;) {
      const char32_t code = code_point_at(words.text.text, static_cast<std::size_t>(at));
      const index_t next = at + static_cast<index_t>(utf8_size(code));
      if (is_delimiter(code)) {
        if (start < at) cutter.add({start, at}, false);
        cutter.add({at, next}, true);
        start = next;
      }
      at = next;
    }
    if (start < word.end) cutter.add({start, word.end}, false);
    cutter.finish();
  }
  words.spans = std::move(result);
}

}  // namespace

void split_at_kind(bool (*is_delimiter)(char32_t), SplitBehavior behavior, Words& words) {
  split(words, behavior, is_delimiter);
}

void split_at(char32_t delimiter, SplitBehavior behavior, Words& words) {
  split(words, behavior, [=](char32_t code) { return code == delimiter; });
}

}  // namespace tessera::text
