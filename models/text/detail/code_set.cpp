#include "tessera/models/text/detail/code_set.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "tessera/models/text/detail/unicode.h"

namespace tessera::text {

namespace {

constexpr std::array<std::string_view, 30> kCategories = {
    "Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps",
    "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co"};
constexpr unsigned kAllCategories = (1u << kCategories.size()) - 1;

unsigned bit_of(char32_t code) {
  return 1u << static_cast<unsigned>(category(code));
}

/// The bits of a category (Lu), of a group of them (L), of "digit" or "any"; 0: unknown.
unsigned categories_of(std::string_view name) {
  if (name == "any") return kAllCategories;
  if (name == "digit") name = "Nd";
  unsigned bits = 0;
  for (std::size_t i = 0; i < kCategories.size(); ++i) {
    if (name == kCategories[i] || (name.size() == 1 && kCategories[i].starts_with(name))) {
      bits |= 1u << i;
    }
  }
  return bits;
}

}  // namespace

char32_t folded(char32_t code) {
  if (code < 0x80) return code >= 'A' && code <= 'Z' ? code | 0x20 : code;
  if (code == 0x17f) return 's';
  if (code == 0x3c2) return 0x3c3;  // both are lower-case sigma
  const CodePoints lower = lower_case(code);
  return lower.size == 1 ? lower.codes[0] : code;
}

void CodeSet::add(char32_t first, char32_t last) {
  ranges_.push_back({first, last});
}

void CodeSet::add(CodeSet set) {
  if (set.negated_) {
    sets_.push_back(std::move(set));
    return;
  }
  ranges_.insert(ranges_.end(), set.ranges_.begin(), set.ranges_.end());
  categories_ |= set.categories_;
  for (CodeSet& inner : set.sets_) sets_.push_back(std::move(inner));
}

bool CodeSet::add_escape(char letter) {
  const char lower = static_cast<char>(letter | 0x20);
  const bool negated = letter != lower;
  switch (lower) {
    case 's':
      return add_property("space", negated);
    case 'w':
      return add_property("word", negated);
    case 'd':
      return add_property("digit", negated);
    case 'h':
      return add_property("xdigit", negated);
    default:
      return false;
  }
}

bool CodeSet::add_property(std::string_view name, bool negated) {
  if (name.starts_with('^')) return add_property(name.substr(1), !negated);
  if (const unsigned categories = categories_of(name); categories != 0) {
    categories_ |= negated ? kAllCategories & ~categories : categories;
    return true;
  }
  CodeSet set;
  if (name == "space") {
    set.categories_ = categories_of("Z");
    set.ranges_ = {{'\t', '\r'}, {0x85, 0x85}};
  } else if (name == "word") {  // Oniguruma's: without the joiners; see also is_word
    set.categories_ = categories_of("L") | categories_of("M") | categories_of("Nd") |
                      categories_of("Nl") | categories_of("Pc");
    set.ranges_ = {{0x24b6, 0x24e9}, {0x1f130, 0x1f149}, {0x1f150, 0x1f169}, {0x1f170, 0x1f189}};
    if (!is_class_) {  // Latin-1's superscript digits and fractions
      set.ranges_.insert(set.ranges_.begin(), {{0xb2, 0xb3}, {0xb9, 0xb9}, {0xbc, 0xbe}});
    }
  } else if (name == "xdigit") {
    set.ranges_ = {{'0', '9'}, {'A', 'F'}, {'a', 'f'}};
  } else {
    return false;
  }
  if (negated) set.negate();
  add(std::move(set));
  return true;
}

bool CodeSet::listed(char32_t code) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), code,
                                      [](char32_t c, const Range& r) { return c < r.first; });
  if (after != ranges_.begin() && code <= std::prev(after)->last) return true;
  if (categories_ != 0 && (categories_ & bit_of(code)) != 0) return true;
  return std::any_of(sets_.begin(), sets_.end(),
                     [code](const CodeSet& set) { return set.contains(code); });
}

bool CodeSet::listed_as_asked(char32_t code) const {
  bool has = listed(code);
  if (!has && ignore_case_) {
    const char32_t lower = folded(code);
    has = listed(lower) || (lower >= 'a' && lower <= 'z' && listed(lower & ~char32_t{0x20}));
  }
  return has != negated_;
}

bool CodeSet::close(bool ignore_case) {
  ignore_case_ = ignore_case;
  for (std::size_t i = 0, count = ranges_.size(); ignore_case && i < count; ++i) {
    const auto [first, last] = ranges_[i];
    if (first == last) add(folded(first), folded(first));
  }
  std::sort(ranges_.begin(), ranges_.end(),
            [](const Range& a, const Range& b) { return a.first < b.first; });
  std::size_t count = 0;
  for (const Range& range : ranges_) {
    if (count > 0 && range.first <= ranges_[count - 1].last) {
      ranges_[count - 1].last = std::max(ranges_[count - 1].last, range.last);
    } else {
      ranges_[count++] = range;
    }
  }
  ranges_.resize(count);
  if (sets_.size() > kMostParts) return false;
  for (CodeSet& set : sets_) {
    if (!set.close(ignore_case) || set.sets_.size() > kMostInside) return false;
  }
  for (char32_t code = 0; code < 128; ++code) ascii_[code] = listed_as_asked(code);
  return true;
}

}  // namespace tessera::text
