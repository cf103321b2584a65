// The standard streams of every command line, at the start and at a failure.
#pragma once

#include <string>
#include <string_view>

namespace tessera::examples {

/// Opens closed standard streams on /dev/null, so that no other file gets their descriptors and
/// their lines; using them fails. A file above its size limit becomes an error instead of a signal.
void prepare_streams();

/// A line for output by programs: escaped(), except for its tabs.
std::string escaped_line(std::string_view line);

/// The text of the exception that is being handled; `advice` is appended to errors about memory.
std::string error_text(const std::string& advice = {});

/// Writes `error` as one line on standard error, after the program's name; returns the exit code
/// for main().
int report_error(const std::string& name, const std::string& error);

}  // namespace tessera::examples
