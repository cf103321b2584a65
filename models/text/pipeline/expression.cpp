#include "models/text/pipeline/expression.h"

#include <algorithm>
#include <optional>
#include <string>
#include <utility>

#include "models/text/unicode.h"

namespace tessera::text {

namespace {

using Kind = Expression::Kind;
using Taste = Expression::Taste;

constexpr int kMostRepeats = 1000;
constexpr int kDeepest = 50;      // groups and classes inside each other
constexpr int kMostStacked = 10;  // repetitions of one part, as a{2}{3}

Expression of_kind(Kind kind) {
  Expression expression;
  expression.kind = kind;
  return expression;
}

Expression around(Kind kind, Expression part) {
  Expression expression = of_kind(kind);
  expression.parts.push_back(std::move(part));
  return expression;
}

/// Errors: a class that takes too long to look something up in.
Expression one_of(CodeSet set, bool ignore_case, const Json* json = nullptr) {
  Expression expression = of_kind(Kind::kSet);
  if (!set.close(ignore_case)) {
    json->fail("a class of a regular expression must have at most ", CodeSet::kMostParts,
               " parts, or ", CodeSet::kMostInside, " inside another class, got more");
  }
  expression.set = std::move(set);
  return expression;
}

Expression one_code(char32_t code, bool ignore_case) {
  CodeSet set;
  set.add(code, code);
  return one_of(std::move(set), ignore_case);
}

/// A parser by descent: an alternative of sequences of repeated atoms.
class Reader {
 public:
  Reader(std::string_view text, const Json& json) : text_(text), json_(json) {}

  Expression all() {
    Expression expression = alternative(0);
    if (!done()) refuse("an unmatched )");
    return expression;
  }

 private:
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

  Expression alternative(int depth) {
    if (depth > kDeepest) refuse("groups or classes deeper than 50");
    const bool ignore_case = ignore_case_;
    Expression choice = of_kind(Kind::kAlternative);
    do {
      choice.parts.push_back(sequence(depth));
    } while (take("|"));
    ignore_case_ = ignore_case;
    return choice.parts.size() == 1 ? std::move(choice.parts[0]) : std::move(choice);
  }

  Expression sequence(int depth) {
    Expression result = of_kind(Kind::kSequence);
    while (!done() && !ahead("|") && !ahead(")")) {
      Expression part = atom(depth);
      for (int stacked = 0; repeat(part); ++stacked) {
        if (stacked == kMostStacked) refuse("more than 10 repetitions of one part");
      }
      result.parts.push_back(std::move(part));
    }
    return result;
  }

  /// Wraps `part` in the repetition that follows it, if one does.
  bool repeat(Expression& part) {
    int low = 0;
    int high = Expression::kUnbounded;
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
    if (part.kind == Kind::kLook) refuse("a repeated lookahead");
    Expression result = around(Kind::kRepeat, std::move(part));
    result.low = low;
    result.high = high;
    if (interval && low == high && ahead("?")) refuse("{n}?");
    if (take("?")) result.taste = Taste::kLazy;
    // After an interval, + repeats it.
    else if (!interval && take("+"))
      result.taste = Taste::kPossessive;
    if (high != 1 && result.parts[0].may_be_empty()) refuse("a repeated part that may be empty");
    part = std::move(result);
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
    high = second < 0 ? Expression::kUnbounded : second;
    if (high != Expression::kUnbounded && high < low) refuse("an invalid count");
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

  Expression atom(int depth) {
    if (take("(")) return group(depth + 1);
    if (take("[")) return one_of(klass(depth + 1), ignore_case_, &json_);
    if (take("^")) return of_kind(Kind::kLineStart);
    if (take("$")) return of_kind(Kind::kLineEnd);
    if (take("\\A")) return of_kind(Kind::kTextStart);
    if (take("\\z")) return of_kind(Kind::kTextEnd);
    if (ahead("*") || ahead("+") || ahead("?")) refuse("a repetition of nothing");
    CodeSet set;
    if (take(".")) {
      set.add('\n', '\n');
      set.negate();
      return one_of(std::move(set), false);
    }
    if (ahead("\\")) {
      if (const auto code = escape(set)) return one_code(*code, ignore_case_);
      return one_of(std::move(set), ignore_case_);
    }
    return one_code(take_code(), ignore_case_);
  }

  Expression group(int depth) {
    Expression result;
    const bool ignore_case = ignore_case_;
    if (take("?:") || !ahead("?")) {
      result = alternative(depth);
    } else if (take("?=") || take("?!")) {
      const bool negated = text_[at_ - 1] == '!';
      result = around(Kind::kLook, alternative(depth));
      result.negated = negated;
    } else if (take("?>")) {
      result = around(Kind::kAtomic, alternative(depth));
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

  /// What follows a backslash: a code point, or nothing and a kind that `set` now has.
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
  std::size_t at_ = 0;
  bool ignore_case_ = false;
};

}  // namespace

bool Expression::may_be_empty() const {
  const auto empty = [](const Expression& part) { return part.may_be_empty(); };
  switch (kind) {
    case Kind::kSet:
      return false;
    case Kind::kRepeat:
      return low == 0 || parts[0].may_be_empty();
    case Kind::kSequence:
      return std::all_of(parts.begin(), parts.end(), empty);
    case Kind::kAlternative:
      return std::any_of(parts.begin(), parts.end(), empty);
    case Kind::kAtomic:
      return parts[0].may_be_empty();
    default:
      return true;
  }
}

Expression read_expression(std::string_view text, const Json& json) {
  return Reader(text, json).all();
}

Expression literal_expression(std::string_view text) {
  Expression sequence;
  for (std::size_t at = 0; at < text.size(); at += utf8_size(text[at])) {
    sequence.parts.push_back(one_code(code_point_at(text, at), false));
  }
  return sequence;
}

}  // namespace tessera::text
