#include "tessera/models/text/detail/expression.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "tessera/models/text/detail/unicode.h"

namespace tessera::text {

namespace {

constexpr int kMostRepeats = 1000;
constexpr int kDeepest = 50;      // groups and classes inside each other
constexpr int kMostStacked = 10;  // repetitions of one part, as a{2}{3}
constexpr std::size_t kMostSteps = 5000;
constexpr std::size_t kMostSets = 2000;

int size_of(const Steps& part) {
  return static_cast<int>(part.steps.size());
}

/// A recursive-descent parser: alternatives of sequences of repeated atoms. Each part becomes
/// steps.
class Reader {
 public:
  Reader(std::string_view text, const Json& json) : text_(text), json_(json) {}

  Expression regular() && {
    Steps all = alternative(0);
    if (!done()) refuse("an unmatched )");
    return finished(std::move(all));
  }
  Expression literal() && {
    Steps all;
    while (!done()) append(all, one_code(take_code()));
    return finished(std::move(all));
  }

 private:
  Expression finished(Steps all) {
    add(all, {.op = Op::kMatch});
    if (all.may_be_empty) all.first.set();
    return {std::move(all), std::move(sets_)};
  }

  void check_size(std::size_t steps) const {
    if (steps <= kMostSteps && sets_.size() <= kMostSets) return;
    json_.fail("a regular expression must have at most ", kMostSteps, " steps and ", kMostSets,
               " sets, got more");
  }
  void add(Steps& to, const Step& step) const {
    check_size(to.steps.size() + 1);
    to.steps.push_back(step);
  }
  void add_all(Steps& to, const Steps& part) const {
    check_size(to.steps.size() + part.steps.size());
    to.steps.insert(to.steps.end(), part.steps.begin(), part.steps.end());
  }
  /// Appends `part`.
  void append(Steps& to, const Steps& part) const {
    add_all(to, part);
    if (to.may_be_empty) to.first |= part.first;
    to.may_be_empty = to.may_be_empty && part.may_be_empty;
  }

  Steps one_step(const Step& step) const {
    Steps part;
    add(part, step);
    return part;
  }
  /// Errors: a class whose lookup takes too long.
  Steps one_of(CodeSet set, bool ignore_case) {
    if (!set.close(ignore_case)) {
      json_.fail("a class of a regular expression must have at most ", CodeSet::kMostParts,
                 " parts, or ", CodeSet::kMostInside, " inside another class, got more");
    }
    Steps part = one_step({.op = Op::kSet, .a = static_cast<int>(sets_.size())});
    for (char32_t code = 0; code < 128; ++code) part.first[code] = set.contains(code);
    part.may_be_empty = false;
    sets_.push_back(std::move(set));
    return part;
  }
  Steps one_code(char32_t code) {
    CodeSet set;
    set.add(code, code);
    return one_of(std::move(set), ignore_case_);
  }
  /// kLook or kAtomic around `part`.
  Steps around(const Step& step, const Steps& part) const {
    Steps result;
    add(result, step);
    add_all(result, part);
    add(result, {.op = Op::kMatch});
    result.steps[0].a = size_of(result);
    if (step.op == Op::kAtomic) {
      result.first = part.first;
      result.may_be_empty = part.may_be_empty;
    }
    return result;
  }

  /// The first of the two that leads to a match.
  Steps either(const Steps& one, const Steps& other) const {
    Steps result;
    add(result, {.op = Op::kFork, .a = 1, .b = size_of(one) + 2});
    add_all(result, one);
    add(result, {.op = Op::kJump, .a = size_of(other) + 1});
    add_all(result, other);
    result.first = one.first | other.first;
    result.may_be_empty = one.may_be_empty || other.may_be_empty;
    return result;
  }

  Steps repeated(const Steps& part, int low, int high, Taste taste) const {
    if (part.steps.size() == 1 && part.steps[0].op == Op::kSet) {
      Steps result = part;
      result.steps[0] = {
          .op = Op::kRepeat, .a = part.steps[0].a, .b = low, .c = high, .taste = taste};
      result.may_be_empty = low == 0;
      return result;
    }
    Steps result;
    for (int i = 0; i < low; ++i) add_all(result, part);
    const int once = size_of(part) + 1;
    const auto add_fork = [&](int outside) {
      const bool lazy = taste == Taste::kLazy;
      add(result, {.op = Op::kFork, .a = lazy ? outside : 1, .b = lazy ? 1 : outside});
      add_all(result, part);
    };
    if (high == Step::kUnbounded) {
      add_fork(once + 1);
      add(result, {.op = Op::kJump, .a = -once});
    } else {
      for (int left = high - low; left > 0; --left) add_fork(left * once);
    }
    result.first = part.first;
    result.may_be_empty = low == 0 || part.may_be_empty;
    return taste == Taste::kPossessive ? around({.op = Op::kAtomic}, result) : result;
  }

  bool done() const { return at_ >= text_.size(); }
  bool ahead(std::string_view what) const { return text_.substr(at_).starts_with(what); }
  bool take(std::string_view what) {
    if (!ahead(what)) return false;
    at_ += what.size();
    return true;
  }
  char32_t take_code() {
    if (done()) refuse("an unfinished expression");
    const char32_t code = code_point_at(text_, at_);
    at_ += utf8_size(code);
    return code;
  }
  [[noreturn]] void refuse(std::string_view what) const {
    json_.fail("must be a regular expression with supported syntax, got ", what, " at byte ", at_);
  }

  Steps alternative(int depth) {
    if (depth > kDeepest) refuse("groups or classes deeper than 50");
    const bool ignore_case = ignore_case_;
    std::vector<Steps> parts;
    do {
      parts.push_back(sequence(depth));
    } while (take("|"));
    ignore_case_ = ignore_case;
    Steps choice = std::move(parts.back());
    for (parts.pop_back(); !parts.empty(); parts.pop_back()) choice = either(parts.back(), choice);
    return choice;
  }

  Steps sequence(int depth) {
    Steps result;
    while (!done() && !ahead("|") && !ahead(")")) {
      Steps part = atom(depth);
      for (int stacked = 0; repeat(part); ++stacked) {
        if (stacked == kMostStacked) refuse("more than 10 repetitions of one part");
      }
      append(result, part);
    }
    return result;
  }

  /// Repeats `part` by the quantifier that follows it. Returns false if there is none.
  bool repeat(Steps& part) {
    int low = 0;
    int high = Step::kUnbounded;
    bool interval = false;
    if (take("*")) {
    } else if (take("+")) {
      low = 1;
    } else if (take("?")) {
      high = 1;
    } else if (counts(low, high)) {
      interval = true;
    } else {
      return false;
    }
    if (!part.steps.empty() && part.steps[0].op == Op::kLook && part.steps[0].a == size_of(part)) {
      refuse("a repeated lookahead");
    }
    Taste taste = Taste::kGreedy;
    if (interval && low == high && ahead("?")) refuse("{n}?");
    if (take("?")) {
      taste = Taste::kLazy;
    } else if (!interval && take("+")) {  // after an interval, + repeats the interval
      taste = Taste::kPossessive;
    }
    if (high != 1 && part.may_be_empty) refuse("a repeated part that may be empty");
    part = repeated(part, low, high, taste);
    return true;
  }

  /// {m}, {m,}, {,n}, {m,n}; other braces are literals.
  bool counts(int& low, int& high) {
    const std::size_t start = at_;
    if (!take("{")) return false;
    const int first = number();
    const bool comma = take(",");
    const int second = comma ? number() : first;
    if (!take("}") || (first < 0 && second < 0)) {
      at_ = start;
      return false;
    }
    low = std::max(first, 0);
    high = second < 0 ? Step::kUnbounded : second;
    if (high != Step::kUnbounded && high < low) refuse("an invalid count");
    return true;
  }
  int number() {
    int value = -1;
    for (; !done() && text_[at_] >= '0' && text_[at_] <= '9'; ++at_) {
      value = std::max(value, 0) * 10 + (text_[at_] - '0');
      if (value > kMostRepeats) refuse("a count above 1000");
    }
    return value;
  }

  Steps atom(int depth) {
    if (take("(")) return group(depth + 1);
    if (take("[")) return one_of(klass(depth + 1), ignore_case_);
    if (take("^")) return one_step({.op = Op::kLineStart});
    if (take("$")) return one_step({.op = Op::kLineEnd});
    if (take("\\A")) return one_step({.op = Op::kTextStart});
    if (take("\\z")) return one_step({.op = Op::kTextEnd});
    if (ahead("*") || ahead("+") || ahead("?")) refuse("a repetition of nothing");
    CodeSet set;
    if (take(".")) {
      set.add('\n', '\n');
      set.negate();
      return one_of(std::move(set), false);
    }
    if (!ahead("\\")) return one_code(take_code());
    const auto code = escape(set);
    return code ? one_code(*code) : one_of(std::move(set), ignore_case_);
  }

  Steps group(int depth) {
    Steps result;
    const bool ignore_case = ignore_case_;
    if (take("?:") || !ahead("?")) {
      result = alternative(depth);
    } else if (take("?=") || take("?!")) {
      const bool negated = text_[at_ - 1] == '!';
      result = around({.op = Op::kLook, .negated = negated}, alternative(depth));
    } else if (take("?>")) {
      result = around({.op = Op::kAtomic}, alternative(depth));
    } else if (take("?i:") || take("?-i:")) {
      ignore_case_ = text_[at_ - 3] != '-';
      result = alternative(depth);
      ignore_case_ = ignore_case;
    } else if (at_ == 1 && take("?i)")) {
      ignore_case_ = true;
      return {};
    } else {
      refuse("an unsupported group");
    }
    if (!take(")")) refuse("an unclosed group");
    return result;
  }

  /// Reads the part after a backslash: a code point, or nullopt and a kind added to `set`.
  std::optional<char32_t> escape(CodeSet& set) {
    const std::size_t start = at_;
    ++at_;
    const char32_t code = take_code();
    if (code == 'p' || code == 'P') {
      const std::size_t end = text_.find('}', at_);
      if (take("{") && end != std::string_view::npos) {
        const std::string_view name = text_.substr(at_, end - at_);
        if (set.add_property(name, code == 'P')) {
          at_ = end + 1;
          return {};
        }
      }
      at_ = start;
      refuse("an unsupported property");
    }
    if (code < 0x80 && set.add_escape(static_cast<char>(code))) return {};
    switch (code) {
      case 't':
        return U'\t';
      case 'n':
        return U'\n';
      case 'v':
        return U'\v';
      case 'f':
        return U'\f';
      case 'r':
        return U'\r';
      case 'x':
        return take("{") ? hexadecimal(1, 8, true) : hexadecimal(1, 2, false);
      case 'u':
        return hexadecimal(4, 4, false);
      default:
        break;
    }
    if (!is_word(code)) return code;
    at_ = start;
    refuse("an unsupported escape");
  }
  char32_t hexadecimal(int least, int most, bool braced) {
    char32_t code = 0;
    int digits = 0;
    for (; digits < most && !done(); ++digits, ++at_) {
      const char32_t digit = static_cast<unsigned char>(text_[at_]);
      const char32_t lower = digit | 0x20;
      if (digit >= '0' && digit <= '9') {
        code = code << 4 | (digit - '0');
      } else if (lower >= 'a' && lower <= 'f') {
        code = code << 4 | (lower - 'a' + 10);
      } else {
        break;
      }
    }
    if (digits < least || code > 0x10ffff || (braced && !take("}"))) refuse("an invalid number");
    return code;
  }

  CodeSet klass(int depth) {
    if (depth > kDeepest) refuse("groups or classes deeper than 50");
    CodeSet set(true);
    const bool negated = take("^");
    bool first = true;
    for (; first || !ahead("]"); first = false) {
      if (done()) refuse("an unclosed class");
      if (ahead("&&")) refuse("&& in a class");
      if (take("[:")) {
        const std::size_t end = text_.find(":]", at_);
        if (end == std::string_view::npos ||
            !set.add_property(text_.substr(at_, end - at_), false)) {
          refuse("an unsupported class");
        }
        at_ = end + 2;
      } else if (take("[")) {
        set.add(klass(depth + 1));
      } else {
        range(set);
      }
    }
    take("]");
    if (negated) set.negate();
    return set;
  }
  void range(CodeSet& set) {
    const auto low = ahead("\\") ? escape(set) : take_code();
    if (!low) return;
    if (!ahead("-") || ahead("-]")) return set.add(*low, *low);
    take("-");
    if (ahead("[")) refuse("an invalid range");
    const auto high = ahead("\\") ? escape(set) : take_code();
    if (!high || *high < *low) refuse("an invalid range");
    set.add(*low, *high);
  }

  std::string_view text_;
  const Json& json_;
  std::vector<CodeSet> sets_;
  std::size_t at_ = 0;
  bool ignore_case_ = false;
};

}  // namespace

Expression read_expression(std::string_view text, const Json& json) {
  return Reader(text, json).regular();
}

Expression literal_expression(std::string_view text, const Json& json) {
  return Reader(text, json).literal();
}

}  // namespace tessera::text
