// How tokens and titles of texts are written on pages and in terminals. Private.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "tessera/models/pages/attention_page.h"

namespace tessera::pages {

/// A token in visible characters, without commands for terminals: white space and control
/// characters become signs (a space U+2423, a line break U+21B5), an empty token becomes U+2205,
/// and bytes that are not UTF-8 become U+FFFD.
std::string shown_token(std::string_view token);

/// The number of code points of `text`, UTF-8.
std::size_t code_points(std::string_view text);

/// `text`, UTF-8, cut to `most` code points, the last of which is then an ellipsis.
std::string shortened(std::string_view text, std::size_t most);

/// A title for each text: its own or, without one, its first tokens. If texts begin with the same
/// tokens, their titles start shortly before the first different token.
std::vector<std::string> titles_of(const std::vector<AttentionText>& texts);

}  // namespace tessera::pages
