#include "models/text/utf8.h"

#include <algorithm>
#include <cstdint>
#include <cstring>

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

std::size_t code_point_size(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const unsigned first = byte(0);
  if (first < 0x80) return 1;
  if (first < 0xc2 || first > 0xf4) return 0;
  const std::size_t size = first < 0xe0 ? 2 : first < 0xf0 ? 3 : 4;
  if (text.size() < size) return 0;
  for (std::size_t i = 1; i < size; ++i) {
    if (!continues_code_point(text[i])) return 0;
  }
  // The second byte excludes overlong forms, surrogates and what lies above U+10FFFF.
  const unsigned second = byte(1);
  if (first == 0xe0 && second < 0xa0) return 0;
  if (first == 0xed && second > 0x9f) return 0;
  if (first == 0xf0 && second < 0x90) return 0;
  if (first == 0xf4 && second > 0x8f) return 0;
  return size;
}

index_t code_point_count(std::string_view text) {
  return std::count_if(text.begin(), text.end(), [](char c) { return !continues_code_point(c); });
}

std::size_t find_invalid_utf8(std::string_view text) {
  for (std::size_t at = 0; at < text.size();) {
    if (begins_with_ascii(text.substr(at))) {
      at += kBlock;
      continue;
    }
    const std::size_t size = code_point_size(text.substr(at));
    if (size == 0) return at;
    at += size;
  }
  return std::string_view::npos;
}

}  // namespace tessera::text
