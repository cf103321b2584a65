// Results for people: a table with fitting units.
#pragma once

#include <string>

#include "bench/measure.h"

namespace tessera::bench {

/// The names of the table's columns.
std::string table_head();
/// A line of the table.
std::string table_row(const Result& result);

}  // namespace tessera::bench
