// What every command line here does with its streams: before it begins, and when it fails.
#pragma once

#include <string>
#include <string_view>

namespace tessera::examples {

/// Takes the places of standard streams that are closed, so that no file gets their numbers and
/// with them lines that are not its own; using them fails. A file over its limit of size becomes an
/// error of that file, where it would end the program.
void prepare_streams();

/// The text without what could command a terminal: control characters are spelled out, as \x1b.
std::string plain(std::string_view text);

/// What to say of the exception that is being handled; `advice` follows what is said of memory.
std::string error_text(const std::string& advice = {});

/// Writes `error` as one line on standard error, after the program's name; what main() returns.
int report_error(const std::string& name, std::string error);

}  // namespace tessera::examples
