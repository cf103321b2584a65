// How tokens and titles of texts are written on pages and in terminals. Private.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "models/pages/attention_page.h"

namespace tessera::pages {

/// A token so that it can be seen and commands no terminal: white space and control characters as
/// signs of their own (a token of one space is U+2423, a line break U+21B5), an empty token as
/// U+2205, what is not UTF-8 as U+FFFD.
std::string shown_token(std::string_view token);

/// The number of code points of `text`, UTF-8.
std::size_t code_points(std::string_view text);

/// `text`, UTF-8, cut to `most` code points, the last of which is then an ellipsis.
std::string shortened(std::string_view text, std::size_t most);

/// A title for each text: its own, else its first tokens. Titles of texts that begin alike start
/// shortly before the first token by which they differ.
std::vector<std::string> titles_of(const std::vector<AttentionText>& texts);

}  // namespace tessera::pages
