// Names of texts in a menu. Private.
#pragma once

#include <string>
#include <vector>

#include "models/pages/attention_page.h"

namespace tessera::pages {

/// A title for each text: its own, else its first tokens. Titles of texts that begin alike start
/// shortly before the first token by which they differ.
std::vector<std::string> titles_of(const std::vector<AttentionText>& texts);

}  // namespace tessera::pages
