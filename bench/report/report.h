// The report of a run: its roofline as a picture, and its tables in Markdown.
#pragma once

#include <string>
#include <string_view>

#include "bench/results/results.h"

namespace tessera::results {

/// The roofline as an SVG file, light or dark like the reader's screen: FLOP/s over FLOPs per byte,
/// below the roof min(peak, intensity * bandwidth of memory).
/// **Errors**: std::runtime_error, no case has both FLOPs and bytes.
/// **Source**: Williams, Waterman and Patterson, "Roofline", 2009.
std::string roofline_svg(const Results& results);

/// A table in Markdown; report.md.in has the names of all. **Errors**: an unknown name.
std::string markdown_table(const std::string& name, const Results& results);

/// `markdown` with every table between markers replaced:
///
///     <!-- table: peers -->
///     | ... |
///     <!-- end of table -->
///
/// A table whose cases were not measured is left unchanged.
/// **Errors**: std::runtime_error that names file and line: an unknown table, a marker without its
/// counterpart.
std::string with_tables(std::string_view markdown, const Results& results, const std::string& file);

}  // namespace tessera::results
