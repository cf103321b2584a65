// Results for people: a table with fitting units.
#pragma once

#include <string>

#include "bench/measure.h"

namespace tessera::bench {

/// A number of four digits with the letter of its power of 1000, to be followed by a unit: "281.3
/// G".
std::string scaled_text(double value);

/// The names of the table's columns.
std::string table_head();
/// A line of the table.
std::string table_row(const Result& result);

}  // namespace tessera::bench
