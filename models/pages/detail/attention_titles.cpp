#include "models/pages/detail/attention_titles.h"

#include <algorithm>

#include "models/pages/detail/attention_labels.h"

namespace tessera::pages {

namespace {

using Tokens = std::vector<std::string>;

constexpr std::size_t kLongest = 60;  // code points of a title
constexpr std::ptrdiff_t kAlike =
    6;  // tokens: texts with fewer in common are told apart by their start
constexpr std::ptrdiff_t kContext = 2;  // tokens before the first difference

/// The number of first tokens that a text shares with a different one.
std::ptrdiff_t shared_tokens(const Tokens& text, const std::vector<AttentionText>& all) {
  std::ptrdiff_t most = 0;
  for (const AttentionText& other : all) {
    if (other.tokens == text) continue;
    const auto [end, ignored] = std::ranges::mismatch(text, other.tokens);
    most = std::max(most, end - text.begin());
  }
  return most;
}

std::string title_from(const Tokens& tokens, std::ptrdiff_t first) {
  std::string title = first > 0 ? "\xe2\x80\xa6" : "";
  for (auto token = tokens.begin() + first; token != tokens.end(); ++token) {
    title += (title.empty() ? "" : " ") + shown_token(*token);
    if (title.size() > 4 * kLongest) break;
  }
  return shortened(title, kLongest);
}

}  // namespace

std::vector<std::string> titles_of(const std::vector<AttentionText>& texts) {
  std::vector<std::string> titles;
  for (const AttentionText& text : texts) {
    const std::ptrdiff_t shared = shared_tokens(text.tokens, texts);
    titles.push_back(!text.title.empty()
                         ? text.title
                         : title_from(text.tokens, shared < kAlike ? 0 : shared - kContext));
  }
  return titles;
}

}  // namespace tessera::pages
