#include "tessera/models/text/detail/unicode.h"

#include <utf8proc.h>

#include <algorithm>

#include "tessera/models/text/detail/unicode_tables.h"

namespace tessera::text {

namespace {

static_assert(static_cast<int>(Category::kLu) == UTF8PROC_CATEGORY_LU &&
              static_cast<int>(Category::kMe) == UTF8PROC_CATEGORY_ME &&
              static_cast<int>(Category::kPo) == UTF8PROC_CATEGORY_PO &&
              static_cast<int>(Category::kZp) == UTF8PROC_CATEGORY_ZP &&
              static_cast<int>(Category::kCo) == UTF8PROC_CATEGORY_CO);

std::int32_t number(char32_t code) {
  return static_cast<std::int32_t>(code);
}

}  // namespace

void append_utf8(char32_t code, std::string& text) {
  const auto put = [&](char32_t byte) { text += static_cast<char>(byte); };
  if (code < 0x80) return put(code);
  const int rest = code < 0x800 ? 1 : code < 0x10000 ? 2 : 3;  // the bytes after the first
  put((rest == 1 ? 0xc0 : rest == 2 ? 0xe0 : 0xf0) | code >> 6 * rest);
  for (int i = rest - 1; i >= 0; --i) put(0x80 | (code >> 6 * i & 0x3f));
}

std::string_view unicode_version() {
  return utf8proc_unicode_version();
}

Category category(char32_t code) {
  const auto known = static_cast<Category>(utf8proc_category(number(code)));
  if (known != Category::kCn) return known;
  const auto* at =
      std::lower_bound(std::begin(kNewCategories), std::end(kNewCategories), code,
                       [](const NewCategory& range, char32_t c) { return range.last < c; });
  return at != std::end(kNewCategories) && at->first <= code ? at->category : known;
}

bool is_letter(char32_t code) {
  if (code < 0x80) return (code | 0x20) >= 'a' && (code | 0x20) <= 'z';
  const Category is = category(code);
  return is >= Category::kLu && is <= Category::kLo;
}

bool is_number(char32_t code) {
  if (code < 0x80) return code >= '0' && code <= '9';
  const Category is = category(code);
  return is >= Category::kNd && is <= Category::kNo;
}

bool is_mark(char32_t code) {
  if (code < 0x80) return false;
  const Category is = category(code);
  return is >= Category::kMn && is <= Category::kMe;
}

bool is_space(char32_t code) {
  if (code < 0x80) return code == ' ' || (code >= '\t' && code <= '\r');
  const Category is = category(code);
  return code == 0x85 || (is >= Category::kZs && is <= Category::kZp);
}

bool is_word(char32_t code) {
  if (code < 0x80) return is_letter(code) || is_number(code) || code == '_';
  const auto within = [code](char32_t low, char32_t high) { return code >= low && code <= high; };
  switch (category(code)) {
    case Category::kNo:
    case Category::kSm:
    case Category::kSc:
    case Category::kSk:
      return false;
    case Category::kSo:  // letters in circles and squares
      return within(0x24b6, 0x24e9) || within(0x1f130, 0x1f149) || within(0x1f150, 0x1f169) ||
             within(0x1f170, 0x1f189);
    case Category::kCf:
      return code == 0x200c || code == 0x200d;
    default: {
      const Category is = category(code);
      return (is >= Category::kLu && is <= Category::kPc);
    }
  }
}

bool is_punctuation(char32_t code) {
  if (code < 0x80) return code > ' ' && code < 0x7f && !is_letter(code) && !is_number(code);
  const Category is = category(code);
  const bool listed = is >= Category::kPc && is <= Category::kPo;
  // Two that were punctuation in older versions.
  return (listed && !contains(kNoPunctuation, code)) || code == 0x166d || code == 0x111c9;
}

bool is_control(char32_t code) {
  if (code < 0x80)
    return (code < 0x20 && code != '\t' && code != '\n' && code != '\r') || code == 0x7f;
  const Category is = category(code);
  if (is == Category::kCf) return !contains(kNoControls, code);
  return is == Category::kCc || is == Category::kCo;
}

bool is_nonspacing_mark(char32_t code) {
  if (code < 0x80) return false;
  return (category(code) == Category::kMn && !contains(kNoNonspacingMarks, code)) ||
         code == 0x1734 || code == 0x1171e;
}

bool is_combining_mark(char32_t code) {
  return (is_mark(code) && !contains(kNoMarks, code)) || code == 0x1cf2 || code == 0x1cf3;
}

bool is_ideograph(char32_t code) {
  const auto within = [code](char32_t low, char32_t high) { return code >= low && code <= high; };
  return within(0x4e00, 0x9fff) || within(0x3400, 0x4dbf) || within(0xf900, 0xfaff) ||
         within(0x20000, 0x2a6df) || within(0x2a700, 0x2b73f) || within(0x2b740, 0x2b81f) ||
         within(0x2b920, 0x2ceaf) || within(0x2f800, 0x2fa1f);
}

CodePoints lower_case(char32_t code) {
  if (code == 0x130) return {.codes = {'i', 0x307}, .size = 2};
  for (const LowerCase& range : kNewLowerCase) {
    if (code < range.first) break;
    if (code <= range.last)
      return {.codes = {code + static_cast<char32_t>(range.difference)}, .size = 1};
  }
  return {.codes = {static_cast<char32_t>(utf8proc_tolower(number(code)))}, .size = 1};
}

CodePoints decomposition(char32_t code, bool compatibility) {
  if (compatibility ? contains(kNoDecompositions, code) : contains(kNoCanonical, code)) {
    return {.codes = {code}, .size = 1};
  }
  std::array<std::int32_t, 18> codes;
  const auto options =
      static_cast<utf8proc_option_t>(UTF8PROC_DECOMPOSE | (compatibility ? UTF8PROC_COMPAT : 0));
  const auto size =
      utf8proc_decompose_char(number(code), codes.data(), std::ssize(codes), options, nullptr);
  CodePoints result;
  result.size = static_cast<int>(size);
  std::copy_n(codes.begin(), size, result.codes.begin());
  return result;
}

char32_t composition(char32_t first, char32_t second) {
  std::array<std::int32_t, 2> codes = {number(first), number(second)};
  const auto options = static_cast<utf8proc_option_t>(UTF8PROC_COMPOSE | UTF8PROC_STABLE);
  const auto size = utf8proc_normalize_utf32(codes.data(), 2, options);
  if (size != 1) return 0;
  const auto composed = static_cast<char32_t>(codes[0]);
  return contains(kNoCanonical, composed) ? 0 : composed;
}

int combining_class(char32_t code) {
  return contains(kNoMarks, code) ? 0 : utf8proc_get_property(number(code))->combining_class;
}

bool GraphemeBreaks::between(char32_t last, char32_t next) {
  return utf8proc_grapheme_break_stateful(number(last), number(next), &state_);
}

}  // namespace tessera::text
