#include "models/text/utf8.h"

#include "tensor/io/detail/utf8.h"
#include "tests/support/test.h"

namespace tessera::text {
namespace {

/// `code` in `size` bytes, valid or not.
std::string encode(std::uint32_t code, int size) {
  if (size == 1) return {static_cast<char>(code)};
  std::string bytes;
  for (int i = size - 1; i > 0; --i) {
    bytes.insert(bytes.begin(), static_cast<char>(0x80 | (code & 0x3f)));
    code >>= 6;
  }
  const std::uint32_t mark = size == 2 ? 0xc0 : size == 3 ? 0xe0 : 0xf0;
  return static_cast<char>(mark | code) + bytes;
}

int shortest(std::uint32_t code) {
  return code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
}

TEST(CodePointSize, AcceptsExactlyTheShortestFormOfEveryCodePoint) {
  for (std::uint32_t code = 0; code < 0x1fffff; ++code) {
    const bool exists = code <= 0x10ffff && !(code >= 0xd800 && code <= 0xdfff);
    for (int size = shortest(code); size <= 4; ++size) {
      const bool good = exists && size == shortest(code);
      const std::string bytes = encode(code, size);
      ASSERT_EQ(detail::code_point_size(bytes), good ? bytes.size() : 0) << code << " in " << size;
      if (good) {
        ASSERT_EQ(detail::code_point_size(bytes + "\x80"), bytes.size());
      }
    }
  }
}

TEST(CodePointSize, RefusesEveryBrokenSequence) {
  for (const std::uint32_t code : {0x80U, 0x7ffU, 0x800U, 0xd7ffU, 0xffffU, 0x10000U, 0x10ffffU}) {
    const std::string bytes = encode(code, shortest(code));
    for (std::size_t size = 1; size < bytes.size(); ++size) {
      EXPECT_EQ(detail::code_point_size(bytes.substr(0, size)), 0u);
    }
    for (std::size_t at = 1; at < bytes.size(); ++at) {
      for (const char wrong : {'\0', 'a', '\x7f', '\xc0', '\xff'}) {
        std::string broken = bytes;
        broken[at] = wrong;
        EXPECT_EQ(detail::code_point_size(broken), 0u);
      }
    }
  }
  for (int first = 0x80; first < 0x100; ++first) {
    if (first >= 0xc2 && first <= 0xf4) continue;
    const std::string bytes = static_cast<char>(first) + std::string("\x80\x80\x80");
    EXPECT_EQ(detail::code_point_size(bytes), 0u) << first;
  }
}

TEST(FindInvalidUtf8, ReturnsTheFirstWrongByte) {
  EXPECT_EQ(find_invalid_utf8(""), std::string::npos);
  EXPECT_EQ(find_invalid_utf8("a\xc3\xa9\xe2\x82\xac\xf0\x9f\x98\x80z"), std::string::npos);
  EXPECT_EQ(find_invalid_utf8("\xff"), 0u);
  EXPECT_EQ(find_invalid_utf8("\xc3\xa9\xc3"), 2u);
  EXPECT_EQ(find_invalid_utf8("ab\xe2\x82z"), 2u);
}

}  // namespace
}  // namespace tessera::text
