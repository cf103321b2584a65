// Sets of code points, for the classes of regular expressions.
#pragma once

#include <bitset>
#include <string_view>
#include <vector>

namespace tessera::text {

/// A union of ranges, categories and other sets, or its complement.
class CodeSet {
 public:
  /// A class in brackets, or an escape outside of brackets: \w differs between the two.
  CodeSet() = default;
  explicit CodeSet(bool is_class) : is_class_(is_class) {}

  void add(char32_t first, char32_t last);
  /// Adds a class inside this one.
  void add(CodeSet set);
  /// `\s`, `\W`, ... by its letter. Returns false if it is unknown.
  bool add_escape(char letter);
  /// `\p{name}`: a category (Lu), a group of them (L), or a posix name (alpha, space, ...).
  bool add_property(std::string_view name, bool negated);
  void negate() { negated_ = !negated_; }

  static constexpr std::size_t kMostParts = 64;  // other sets; each is tested for each character
  static constexpr std::size_t kMostInside = 8;  // of a class inside another class

  /// Prepares `contains`; nothing may be added afterwards. Returns false if there are too many
  /// parts.
  bool close(bool ignore_case);
  bool contains(char32_t code) const { return code < 128 ? ascii_[code] : listed_as_asked(code); }

 private:
  struct Range {
    char32_t first;
    char32_t last;
  };

  bool listed(char32_t code) const;
  bool listed_as_asked(char32_t code) const;

  std::vector<Range> ranges_;  // after close(): ascending and disjoint
  unsigned categories_ = 0;    // bits
  std::vector<CodeSet> sets_;
  bool is_class_ = false;
  bool negated_ = false;
  bool ignore_case_ = false;
  std::bitset<128> ascii_;
};

/// The form of code points if case is ignored.
char32_t folded(char32_t code);

}  // namespace tessera::text
