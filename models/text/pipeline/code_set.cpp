#include "models/text/pipeline/code_set.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <iterator>
#include <string>
#include <utility>

#include "models/text/unicode.h"

namespace tessera::text {

namespace {

constexpr std::array<std::string_view, 30> kCategories = {
    "Cn", "Lu", "Ll", "Lt", "Lm", "Lo", "Mn", "Mc", "Me", "Nd", "Nl", "No", "Pc", "Pd", "Ps",
    "Pe", "Pi", "Pf", "Po", "Sm", "Sc", "Sk", "So", "Zs", "Zl", "Zp", "Cc", "Cf", "Cs", "Co"};

unsigned bit_of(char32_t code) {
  return 1u << static_cast<unsigned>(category(code));
}

/// Oniguruma's \w: without the joiners, and outside of classes with Latin-1's raised digits and
/// fractions.
bool is_word_in_class(char32_t code) {
  return is_word(code) && code != 0x200c && code != 0x200d;
}
bool is_word_alone(char32_t code) {
  return is_word_in_class(code) || code == 0xb2 || code == 0xb3 || code == 0xb9 ||
         (code >= 0xbc && code <= 0xbe);
}
bool is_digit(char32_t code) {
  return category(code) == Category::kNd;
}
bool is_hexadecimal(char32_t code) {
  return (code >= '0' && code <= '9') || ((code | 0x20) >= 'a' && (code | 0x20) <= 'f');
}
bool is_any(char32_t) {
  return true;
}

struct Named {
  std::string_view name;
  bool (*has)(char32_t);
};
constexpr Named kNamed[] = {{"space", is_space},
                            {"word", is_word_in_class},
                            {"digit", is_digit},
                            {"xdigit", is_hexadecimal},
                            {"any", is_any}};

}  // namespace

char32_t folded(char32_t code) {
  if (code < 0x80) return code >= 'A' && code <= 'Z' ? code | 0x20 : code;
  if (code == 0x17f) return 's';
  if (code == 0x3c2) return 0x3c3;  // both are a lower sigma
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
  kinds_.insert(kinds_.end(), set.kinds_.begin(), set.kinds_.end());
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
  if (name == "word" && !is_class_) {
    kinds_.push_back({is_word_alone, 0, negated});
    return true;
  }
  for (const Named& named : kNamed) {
    if (name == named.name) {
      kinds_.push_back({named.has, 0, negated});
      return true;
    }
  }
  unsigned categories = 0;
  for (std::size_t i = 0; i < kCategories.size(); ++i) {
    if (name == kCategories[i] || (name.size() == 1 && kCategories[i].starts_with(name))) {
      categories |= 1u << i;
    }
  }
  if (categories != 0) kinds_.push_back({nullptr, categories, negated});
  return categories != 0;
}

bool CodeSet::listed(char32_t code) const {
  const auto after = std::upper_bound(ranges_.begin(), ranges_.end(), code,
                                      [](char32_t c, const Range& r) { return c < r.first; });
  if (after != ranges_.begin() && code <= std::prev(after)->last) return true;
  for (const Kind& kind : kinds_) {
    const bool has = kind.has != nullptr ? kind.has(code) : (kind.categories & bit_of(code)) != 0;
    if (has != kind.negated) return true;
  }
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
  if (kinds_.size() > kMostParts || sets_.size() > kMostParts) return false;
  for (CodeSet& set : sets_) {
    if (!set.close(ignore_case) || set.kinds_.size() + set.sets_.size() > kMostInside) return false;
  }
  for (char32_t code = 0; code < 128; ++code) ascii_[code] = listed_as_asked(code);
  return true;
}

}  // namespace tessera::text
