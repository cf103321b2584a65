#include "tessera/models/pages/detail/attention_labels.h"

#include <algorithm>

#include "tessera/tensor/io/detail/utf8.h"

namespace tessera::pages {

namespace {

constexpr const char* kEllipsis = "\xe2\x80\xa6";

/// What stands for an ASCII character that cannot be seen; empty: it can.
std::string sign_of(unsigned char c, bool is_alone) {
  if (c == '\n') return "\xe2\x86\xb5";             // a bent arrow
  if (c == ' ' && is_alone) return "\xe2\x90\xa3";  // an open box
  if (c == 0x7f) return "\xe2\x90\xa1";             // "DEL"
  if (c >= 0x20) return {};
  return std::string("\xe2\x90") + static_cast<char>(0x80 + c);  // U+2400 + c
}

}  // namespace

std::string shown_token(std::string_view token) {
  if (token.empty()) return "\xe2\x88\x85";  // the empty set
  const bool is_alone = token.size() == 1;
  std::string shown;
  while (!token.empty()) {
    const std::size_t size = detail::code_point_size(token);
    const auto first = static_cast<unsigned char>(token.front());
    const std::string sign = size == 1 ? sign_of(first, is_alone) : std::string();
    const bool is_c1 = size == 2 && first == 0xc2 && static_cast<unsigned char>(token[1]) < 0xa0;
    if (size == 0 || is_c1) {
      shown += "\xef\xbf\xbd";
    } else {
      shown += sign.empty() ? std::string(token.substr(0, size)) : sign;
    }
    token.remove_prefix(std::max<std::size_t>(size, 1));
  }
  return shown;
}

std::size_t code_points(std::string_view text) {
  return static_cast<std::size_t>(std::count_if(text.begin(), text.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

std::string shortened(std::string_view text, std::size_t most) {
  if (code_points(text) <= most) return std::string(text);
  std::size_t end = 0;
  for (std::size_t kept = 0; kept + 1 < most; ++kept) {
    end += std::max<std::size_t>(detail::code_point_size(text.substr(end)), 1);
  }
  return std::string(text.substr(0, end)) + kEllipsis;
}

// ---- titles ----

namespace {

using Tokens = std::vector<std::string>;

constexpr std::size_t kLongest = 60;    // code points of a title
constexpr std::ptrdiff_t kAlike = 6;    // tokens: texts with fewer in common show their start
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
