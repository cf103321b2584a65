#include "tessera/models/text/detail/pattern.h"

#include <utility>

#include "tessera/models/text/detail/unicode.h"
#include "tessera/models/text/utf8.h"

namespace tessera::text {

namespace {

constexpr std::size_t kMostPatternBytes = 20'000;

/// Tries one alternative after the other; the remaining ones wait on a stack.
class Matcher {
 public:
  Matcher(const Expression& expression, std::string_view text, Span word, Effort& effort)
      : steps_(expression.all.steps),
        sets_(expression.sets),
        text_(text),
        word_(word),
        effort_(effort),
        most_ways_(4 * (word.end - word.begin) + 100'000) {}

  /// The end of the match that begins at `at`; -1: no match.
  index_t match(int next, index_t at) {
    const std::size_t base = ways_.size();
    while (true) {
      const Outcome outcome = step(next, at);
      if (outcome == Outcome::kMatched) {
        ways_.resize(base);
        return at;
      }
      if (outcome == Outcome::kFailed && !take_way(base, next, at)) return -1;
    }
  }

 private:
  enum class Outcome { kGoesOn, kFailed, kMatched };
  /// An alternative: continue at `next` from `at`. For a greedy repetition also from each earlier
  /// character down to `low`; for a lazy one, after one more character while `left` is not 0.
  struct Way {
    int next;
    index_t at;
    index_t low = -1;
    index_t left = 0;
  };

  Outcome step(int& next, index_t& at) {
    count();
    const Step& now = steps_[static_cast<std::size_t>(next)];
    switch (now.op) {
      case Op::kSet:
        return passed(take(now.a, at), ++next);
      case Op::kRepeat:
        return repeat(now, next, at);
      case Op::kFork:
        add_way({next + now.b, at});
        next += now.a;
        return Outcome::kGoesOn;
      case Op::kJump:
        next += now.a;
        return Outcome::kGoesOn;
      case Op::kLook: {
        const bool found = match(next + 1, at) >= 0;
        return passed(found != now.negated, next += now.a);
      }
      case Op::kAtomic: {
        const index_t end = match(next + 1, at);
        if (end >= 0) at = end;
        return passed(end >= 0, next += now.a);
      }
      case Op::kLineStart:
        return passed(at == word_.begin || (byte(at - 1) == '\n' && at < word_.end), ++next);
      case Op::kLineEnd:
        return passed(at == word_.end || byte(at) == '\n', ++next);
      case Op::kTextStart:
        return passed(at == word_.begin, ++next);
      case Op::kTextEnd:
        return passed(at == word_.end, ++next);
      case Op::kMatch:
        return Outcome::kMatched;
    }
    return Outcome::kFailed;
  }
  static Outcome passed(bool holds, int) { return holds ? Outcome::kGoesOn : Outcome::kFailed; }

  Outcome repeat(const Step& now, int& next, index_t& at) {
    const bool lazy = now.taste == Taste::kLazy;
    index_t taken = 0;
    while (taken < now.b && take(now.a, at)) ++taken;
    if (taken < now.b) return Outcome::kFailed;
    const index_t least = at;
    if (lazy) {
      const index_t left = now.c == Step::kUnbounded ? -1 : now.c - taken;
      if (left != 0) add_way({next, at, -1, left});
    } else {
      while (taken != now.c && take(now.a, at)) ++taken;
      if (now.taste == Taste::kGreedy && at > least) add_way({next + 1, at, least});
    }
    ++next;
    return Outcome::kGoesOn;
  }

  bool take_way(std::size_t base, int& next, index_t& at) {
    while (ways_.size() > base) {
      count();
      Way& way = ways_.back();
      next = way.next;
      at = way.at;
      if (way.left != 0) {  // lazy: one more
        const Step& now = steps_[static_cast<std::size_t>(next)];
        if (!take(now.a, at)) {
          ways_.pop_back();
          continue;
        }
        way.at = at;
        if (--way.left == 0) ways_.pop_back();
        ++next;
      } else if (way.low >= 0) {  // greedy: one less
        do --at;
        while (continues_code_point(byte(at)));
        way.at = at;
        if (at == way.low) ways_.pop_back();
      } else {
        ways_.pop_back();
      }
      return true;
    }
    return false;
  }

  bool take(int set, index_t& at) {
    count();
    if (at >= word_.end) return false;
    const char32_t code = code_point_at(text_, static_cast<std::size_t>(at));
    if (!sets_[static_cast<std::size_t>(set)].contains(code)) return false;
    at += static_cast<index_t>(utf8_size(code));
    return true;
  }
  char byte(index_t at) const { return text_[static_cast<std::size_t>(at)]; }
  void count() { effort_.spend(1); }
  void add_way(const Way& way) {
    require(std::ssize(ways_) < most_ways_, "tokenizer", "a regular expression must leave at most ",
            most_ways_, " ways to try on this text, got more");
    ways_.push_back(way);
  }

  const std::vector<Step>& steps_;
  const std::vector<CodeSet>& sets_;
  std::string_view text_;
  Span word_;
  Effort& effort_;
  index_t most_ways_;
  std::vector<Way> ways_;
};

}  // namespace

Pattern::Pattern(const Json& json) {
  const auto regex = json.find("Regex");
  const Json written = regex ? *regex : json.at("String");
  const std::string_view text = written.text();
  if (text.size() > kMostPatternBytes) {
    written.fail("must have at most ", kMostPatternBytes, " bytes, got ", text.size());
  }
  expression_ = regex ? read_expression(text, written) : literal_expression(text, written);
}

void Pattern::find(std::string_view text, Span word, std::vector<Span>& matches,
                   Effort* effort) const {
  Effort own(word.end - word.begin);
  Matcher matcher(expression_, text, word, effort != nullptr ? *effort : own);
  index_t last = -1;  // the end of the last match; an empty match does not begin there
  for (index_t at = word.begin; at <= word.end;) {
    const bool inside = at < word.end;
    const auto byte =
        inside ? static_cast<unsigned char>(text[static_cast<std::size_t>(at)]) : 0x80u;
    index_t end = -1;
    if (byte >= 0x80 || expression_.all.first[byte]) end = matcher.match(0, at);
    if (end > at || (end == at && end != last)) {
      matches.push_back({at, end});
      last = end;
    }
    if (end > at) {
      at = end;
    } else {
      at += inside ? static_cast<index_t>(utf8_size(static_cast<char>(byte))) : 1;
    }
  }
}

}  // namespace tessera::text
