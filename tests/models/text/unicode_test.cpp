#include "tessera/models/text/detail/unicode.h"

#include "tessera/models/text/detail/unicode_forms.h"
#include "tessera/models/text/utf8.h"
#include "tessera/tensor/io/detail/utf8.h"
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

/// FNV-1a over numbers.
class Digest {
 public:
  void add(char32_t value) {
    for (int i = 0; i < 3; ++i, value >>= 8) hash_ = (hash_ ^ (value & 0xff)) * 0x100000001b3;
  }
  std::uint64_t value() const { return hash_; }

 private:
  std::uint64_t hash_ = 0xcbf29ce484222325;
};

/// Calls `use` for every code point except surrogates and empty planes.
template <class Use>
void for_each_code(const Use& use) {
  for (char32_t code = 0; code < 0xd800; ++code) use(code);
  for (char32_t code = 0xe000; code < 0x33480; ++code) use(code);
  for (char32_t code = 0xe0000; code < 0xe2000; ++code) use(code);
}

/// The digest of the code points at which the result changes.
std::uint64_t digest_of(bool (*has)(char32_t)) {
  Digest digest;
  bool last = false;
  for_each_code([&](char32_t code) {
    if (has(code) != last) digest.add(code);
    last = has(code);
  });
  return digest.value();
}

/// The digest of the mappings of code points that change.
template <class Map>
std::uint64_t digest_of_map(const Map& map) {
  Digest digest;
  for_each_code([&](char32_t code) {
    const CodePoints codes = map(code);
    if (codes.size == 1 && codes.codes[0] == code) return;
    digest.add(code);
    for (const char32_t value : codes) digest.add(value);
  });
  return digest.value();
}

std::uint64_t digest_of_form(UnicodeForm form) {
  return digest_of_map([form](char32_t code) {
    CodePoints codes = decomposition(code, form.compatibility);
    if (!form.composed || codes.size == 1) return codes;
    codes.size = 0;
    for (const Character& c : in_form({{code, {}}}, form)) {
      codes.codes[static_cast<std::size_t>(codes.size++)] = c.code;
    }
    return codes;
  });
}

/// With tables of a different version, some code points differ from the reference.
bool has_known_tables() {
  return unicode_version() == "15.0.0" || unicode_version() == "15.1.0" ||
         unicode_version() == "16.0.0";
}

// The numbers are those of the tokenizers library 0.23.2: every code point was passed through its
// normalizers and pre-tokenizers, and the results were digested.
TEST(Unicode, EveryCodePointIsWhatTheReferenceTakesItFor) {
  if (!has_known_tables()) GTEST_SKIP() << "Unicode " << unicode_version();
  const std::vector<std::pair<bool (*)(char32_t), std::uint64_t>> classes = {
      {is_letter, 0x77298b40b8359ec3u},         {is_number, 0xdbd236af2e6a9187u},
      {is_mark, 0x1b44d20cec05bb36u},           {is_space, 0x582ac5e0119fe602u},
      {is_word, 0xeb00638d8e469893u},           {is_punctuation, 0x3b000665a75bda2eu},
      {is_control, 0xa8a3bcc562ddf73u},         {is_nonspacing_mark, 0x1cde145f2b0c835du},
      {is_combining_mark, 0xf11ac9df034bef73u}, {is_ideograph, 0xbc38ef48e3d61fdeu}};
  for (const auto& [has, digest] : classes) EXPECT_EQ(digest_of(has), digest);
  EXPECT_EQ(digest_of_map(lower_case), 0xb1658a93574587e0u);
}

TEST(Unicode, EveryCodePointHasTheReferencesForms) {
  if (!has_known_tables()) GTEST_SKIP() << "Unicode " << unicode_version();
  EXPECT_EQ(digest_of_form({}), 0xe1da28e0a96db458u);
  EXPECT_EQ(digest_of_form({.composed = true}), 0x4498eaf011aaa07au);
  EXPECT_EQ(digest_of_form({.compatibility = true}), 0x61e879afcb4d1732u);
  EXPECT_EQ(digest_of_form({.compatibility = true, .composed = true}), 0xa843c84c99cc1bf1u);
}

TEST(Unicode, MarksMoveAndComposeAsInTheReference) {
  const auto form = [](const std::u32string& text, bool composed) {
    Characters characters;
    for (const char32_t code : text) characters.push_back({code, {}});
    std::u32string result;
    for (const Character& c : in_form(characters, {.composed = composed})) result += c.code;
    return result;
  };
  EXPECT_EQ(form(U"a\u0323\u0323\u0302", true), U"\u1ead\u0323");  // blocked by an equal mark
  EXPECT_EQ(form(U"a\u0305\u0301", true), U"a\u0305\u0301");       // and by one of its class
  EXPECT_EQ(form(U"a\u0318\u0301", true), U"\u00e1\u0318");
  EXPECT_EQ(form(U"a\u0302\u0301", true), U"\u1ea5");
  EXPECT_EQ(form(U"\U00011935\U00011930", true), U"\U00011935\U00011930");  // from Unicode 13
  EXPECT_EQ(form(U"a\u0301\u0898\u0323", false), U"a\u0301\u0898\u0323");   // U+0898: from 14
}

TEST(Unicode, CodePointsSurviveUtf8) {
  for (char32_t code = 0; code < 0x110000; code += code < 0x3000 ? 1 : 61) {
    if (code >= 0xd800 && code < 0xe000) continue;
    std::string text;
    append_utf8(code, text);
    ASSERT_EQ(detail::code_point_size(text), text.size()) << static_cast<std::uint32_t>(code);
    ASSERT_EQ(utf8_size(code), text.size());
    ASSERT_EQ(utf8_size(text[0]), text.size());
    ASSERT_EQ(code_point_at("x" + text, 1), code);
  }
}

TEST(Unicode, UserPerceivedCharactersEndWhereTheyShould) {
  const auto clusters = [](const std::u32string& text) {
    GraphemeBreaks breaks;
    std::vector<std::size_t> ends;
    for (std::size_t i = 1; i < text.size(); ++i) {
      if (breaks.between(text[i - 1], text[i])) ends.push_back(i);
    }
    return ends;
  };
  EXPECT_EQ(clusters(U"e\u0301\u0302x\r\n\n"), (std::vector<std::size_t>{3, 4, 6}));
  EXPECT_EQ(clusters(U"\U0001F1E9\U0001F1EA\U0001F1E9"), (std::vector<std::size_t>{2}));
  EXPECT_EQ(clusters(U"\u1100\u1161\u11a8\u1100"), (std::vector<std::size_t>{3}));
}

}  // namespace
}  // namespace tessera::text
