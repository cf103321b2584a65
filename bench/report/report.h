// The report of a run as a page, its roofline as a picture, and its tables inside READMEs.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>

#include "bench/results/results.h"

namespace tessera::results {

/// One self-contained page: machine, roofline, speed over size and threads, ladders, fused against
/// unfused, cliffs, other libraries, and every case with its error.
std::string report_html(const Results& results);

/// The roofline as an SVG file, light or dark as its reader's screen.
/// **Errors**: std::runtime_error, no case has both FLOPs and bytes.
std::string roofline_svg(const Results& results);

/// `markdown` with every table between markers made anew:
///
///     <!-- table: peers -->
///     | ... |
///     <!-- end of table -->
///
/// Tables: machine, highlights, peers, matmul_ladder, attention_ladder. One whose cases were not
/// measured stays as it is. **Errors**: std::runtime_error that names file and line: a table that is
/// not known, a marker without its other.
std::string with_tables(std::string_view markdown, const Results& results, const std::string& file);

}  // namespace tessera::results
