// The standard streams of every command line: before it begins, and when it fails.
#pragma once

#include <string>
#include <string_view>

namespace tessera::examples {

/// Opens closed standard streams on /dev/null, so that no other file gets their descriptors and their
/// lines; their use fails. A file above the limit of its size becomes an error instead of a signal.
void prepare_streams();

/// A whole line as programs print it: escaped(), except for its tabs.
std::string escaped_line(std::string_view line);

/// The text of the exception that is being handled; `advice` is appended to errors of memory.
std::string error_text(const std::string& advice = {});

/// Writes `error` as one line on standard error, after the program's name; what main() returns.
int report_error(const std::string& name, std::string error);

}  // namespace tessera::examples
