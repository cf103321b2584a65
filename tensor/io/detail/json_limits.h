// The limits of JSON text, and the numbers that its parser would refuse. Private to tensor/io.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "tessera/tensor/io/json.h"

namespace tessera::detail {

/// A number that JSON lacks, but that Python's json module writes and reads.
struct JsonNotFinite {
  index_t value;      // the number of values and keys up to it
  std::size_t begin;  // its place in the text
  std::size_t size;
  double number;
};

/// Refuses text beyond the limits, before the parser allocates memory for its values. Returns the
/// numbers that the parser would refuse.
std::vector<JsonNotFinite> check_limits(std::string_view json, const std::string& file,
                                        const JsonLimits& limits);

}  // namespace tessera::detail
