// Untrusted text, such as names in files, escaped for errors and terminals.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace tessera {

/// `text` with each byte that cannot be printed as `\xNN`: control characters (zero bytes, line ends,
/// terminal commands, marks that change the direction of writing) and what is not UTF-8. All other
/// characters remain, so a text that was escaped once does not change again. A text of more than
/// `most` bytes is cut, and ends in "...".
std::string escaped(std::string_view text, std::size_t most = std::string_view::npos);

/// `text` in quotes, escaped, and cut after 80 bytes: 'encoder.w'.
std::string printable(std::string_view text);

}  // namespace tessera
