#include "tessera/models/text/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

#include "tessera/tensor/error.h"
#include "tessera/tensor/io/detail/utf8.h"

namespace tessera::text {

namespace {

constexpr std::size_t kBlock = 8;

/// Whether a text begins with kBlock characters of ASCII.
bool begins_with_ascii(std::string_view text) {
  if (text.size() < kBlock) return false;
  std::uint64_t block = 0;
  std::memcpy(&block, text.data(), kBlock);
  return (block & 0x8080808080808080) == 0;
}

}  // namespace

index_t code_point_count(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return !continues_code_point(c); });
}

std::size_t find_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (begins_with_ascii(text.substr(at))) {
      at += kBlock;
      continue;
    }
    const std::size_t size = detail::code_point_size(text.substr(at));
    if (size == 0) return at;
    at += size;
  }
  return std::string_view::npos;
}

void check_utf8(std::string_view text, const char* op, index_t number) {
  const std::size_t bad = find_invalid_utf8(text);
  if (bad == std::string_view::npos) return;
  fail(op, number < 0 ? "" : str_cat("text ", number, ", "), "byte ", bad, " must be UTF-8, got ",
       printable(text.substr(bad, 1)));
}

}  // namespace tessera::text
