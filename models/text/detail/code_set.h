// Sets of code points, as classes of regular expressions name them.
#pragma once

#include <bitset>
#include <string_view>
#include <vector>

namespace tessera::text {

/// A union of ranges, categories and other sets, or what is outside of it.
class CodeSet {
 public:
  /// A class in brackets, or what is written without them: \w differs between the two.
  CodeSet() = default;
  explicit CodeSet(bool is_class) : is_class_(is_class) {}

  void add(char32_t first, char32_t last);
  /// A class inside this one.
  void add(CodeSet set);
  /// `\s`, `\W`, ... by its letter. False: not known.
  bool add_escape(char letter);
  /// `\p{name}`: a category (Lu), a group of them (L), or a posix name (alpha, space, ...).
  bool add_property(std::string_view name, bool negated);
  void negate() { negated_ = !negated_; }

  static constexpr std::size_t kMostParts = 64;  // other sets; each is tried for each character
  static constexpr std::size_t kMostInside = 8;  // of a class inside another

  /// Prepares `contains`; nothing is added after it. False: more parts than these.
  bool close(bool ignore_case);
  bool contains(char32_t code) const { return code < 128 ? ascii_[code] : listed_as_asked(code); }

 private:
  struct Range {
    char32_t first;
    char32_t last;
  };

  bool listed(char32_t code) const;
  bool listed_as_asked(char32_t code) const;

  std::vector<Range> ranges_;  // once closed, in rising order and apart
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
