#include "models/text/pipeline/pattern.h"

#include <bitset>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <utility>

#include "models/text/pipeline/expression.h"
#include "models/text/unicode.h"
#include "models/text/utf8.h"

namespace tessera::text {

namespace {

using Kind = Expression::Kind;
using Taste = Expression::Taste;

constexpr std::size_t kMostPatternBytes = 20'000;
constexpr std::size_t kMostInstructions = 5000;
constexpr std::size_t kMostSets = 2000;

enum class Op : std::uint8_t {
  kSet,     // a code point of sets[a]
  kRepeat,  // b to c code points of sets[a]
  kFork,    // goes on at a; if that fails, at b
  kJump,    // goes on at a
  kLook,    // what follows up to kMatch, without moving; then goes on at a
  kAtomic,  // what follows up to kMatch, once; then goes on at a
  kLineStart,
  kLineEnd,
  kTextStart,
  kTextEnd,
  kMatch,
};

struct Instruction {
  Op op;
  int a = 0;
  int b = 0;
  int c = 0;
  Taste taste = Taste::kGreedy;
  bool negated = false;
};

}  // namespace

struct Pattern::Program {
  std::vector<Instruction> code;
  std::vector<CodeSet> sets;
  std::unordered_map<const CodeSet*, int>
      numbers;             // of the expression's sets, while it is compiled
  std::bitset<128> first;  // the ASCII characters with which a match may begin

  int size() const { return static_cast<int>(code.size()); }
  int add(Instruction instruction, const Json& json) {
    if (code.size() >= kMostInstructions || sets.size() > kMostSets) {
      json.fail("a regular expression must have at most ", kMostInstructions, " steps and ",
                kMostSets, " sets, got more");
    }
    code.push_back(instruction);
    return size() - 1;
  }
  /// A part that is repeated is compiled several times; its set is kept once.
  int add_set(const CodeSet& set) {
    const auto [place, is_new] = numbers.emplace(&set, static_cast<int>(sets.size()));
    if (is_new) sets.push_back(set);
    return place->second;
  }
  Instruction& at(int i) { return code[static_cast<std::size_t>(i)]; }

  void compile(const Expression& expression, const Json& json);
  void compile_repeat(const Expression& repeat, const Json& json);
};

void Pattern::Program::compile(const Expression& expression, const Json& json) {
  switch (expression.kind) {
    case Kind::kSequence:
      for (const Expression& part : expression.parts) compile(part, json);
      return;
    case Kind::kAlternative: {
      std::vector<int> jumps;
      for (std::size_t i = 0; i + 1 < expression.parts.size(); ++i) {
        const int fork = add({.op = Op::kFork, .a = size() + 1}, json);
        compile(expression.parts[i], json);
        jumps.push_back(add({.op = Op::kJump}, json));
        at(fork).b = size();
      }
      compile(expression.parts.back(), json);
      for (const int jump : jumps) at(jump).a = size();
      return;
    }
    case Kind::kSet:
      add({.op = Op::kSet, .a = add_set(expression.set)}, json);
      return;
    case Kind::kRepeat:
      compile_repeat(expression, json);
      return;
    case Kind::kLook:
    case Kind::kAtomic: {
      const Op op = expression.kind == Kind::kLook ? Op::kLook : Op::kAtomic;
      const int start = add({.op = op, .negated = expression.negated}, json);
      compile(expression.parts[0], json);
      add({.op = Op::kMatch}, json);
      at(start).a = size();
      return;
    }
    case Kind::kLineStart:
      add({.op = Op::kLineStart}, json);
      return;
    case Kind::kLineEnd:
      add({.op = Op::kLineEnd}, json);
      return;
    case Kind::kTextStart:
      add({.op = Op::kTextStart}, json);
      return;
    case Kind::kTextEnd:
      add({.op = Op::kTextEnd}, json);
      return;
  }
}

void Pattern::Program::compile_repeat(const Expression& repeat, const Json& json) {
  const Expression& part = repeat.parts[0];
  if (part.kind == Kind::kSet) {
    add({.op = Op::kRepeat,
         .a = add_set(part.set),
         .b = repeat.low,
         .c = repeat.high,
         .taste = repeat.taste},
        json);
    return;
  }
  const bool lazy = repeat.taste == Taste::kLazy;
  const auto fork_to = [&](int fork, int inside, int outside) {
    at(fork).a = lazy ? outside : inside;
    at(fork).b = lazy ? inside : outside;
  };
  const bool atomic = repeat.taste == Taste::kPossessive;
  const int start = atomic ? add({.op = Op::kAtomic}, json) : 0;
  for (int i = 0; i < repeat.low; ++i) compile(part, json);
  if (repeat.high == Expression::kUnbounded) {
    const int fork = add({.op = Op::kFork}, json);
    compile(part, json);
    add({.op = Op::kJump, .a = fork}, json);
    fork_to(fork, fork + 1, size());
  } else {
    std::vector<int> forks;
    for (int i = repeat.low; i < repeat.high; ++i) {
      forks.push_back(add({.op = Op::kFork}, json));
      compile(part, json);
    }
    for (const int fork : forks) fork_to(fork, fork + 1, size());
  }
  if (atomic) {
    add({.op = Op::kMatch}, json);
    at(start).a = size();
  }
}

namespace {

/// Adds the ASCII characters with which `expression` may begin. False: it may match nothing, so
/// what follows it counts as well.
bool add_first(const Expression& expression, std::bitset<128>& first) {
  switch (expression.kind) {
    case Kind::kSet:
      for (char32_t code = 0; code < 128; ++code) {
        if (expression.set.contains(code)) first.set(code);
      }
      return true;
    case Kind::kSequence:
      for (const Expression& part : expression.parts) {
        if (add_first(part, first)) return true;
      }
      return false;
    case Kind::kAlternative: {
      bool all = true;
      for (const Expression& part : expression.parts) all = add_first(part, first) && all;
      return all;
    }
    case Kind::kRepeat:
      return add_first(expression.parts[0], first) && expression.low > 0;
    case Kind::kAtomic:
      return add_first(expression.parts[0], first);
    default:
      return false;
  }
}

/// Tries one way after another; those that are left wait in a list.
class Matcher {
 public:
  Matcher(const std::vector<Instruction>& code, const std::vector<CodeSet>& sets,
          std::string_view text, Span word, Effort& effort)
      : code_(code),
        sets_(sets),
        text_(text),
        word_(word),
        effort_(effort),
        most_ways_(4 * (word.end - word.begin) + 100'000) {}

  /// The end of the match that begins at `at`; -1: none does.
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
  /// Another way: going on at `next` from `at`. Of a repetition also from each character down to
  /// `low`, or, where it is lazy, after one more while `left` is not 0.
  struct Way {
    int next;
    index_t at;
    index_t low = -1;
    index_t left = 0;
  };

  Outcome step(int& next, index_t& at) {
    count();
    const Instruction& now = code_[static_cast<std::size_t>(next)];
    switch (now.op) {
      case Op::kSet:
        return passed(take(now.a, at), ++next);
      case Op::kRepeat:
        return repeat(now, next, at);
      case Op::kFork:
        add_way({now.b, at});
        next = now.a;
        return Outcome::kGoesOn;
      case Op::kJump:
        next = now.a;
        return Outcome::kGoesOn;
      case Op::kLook: {
        const bool found = match(next + 1, at) >= 0;
        return passed(found != now.negated, next = now.a);
      }
      case Op::kAtomic: {
        const index_t end = match(next + 1, at);
        if (end >= 0) at = end;
        return passed(end >= 0, next = now.a);
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

  Outcome repeat(const Instruction& now, int& next, index_t& at) {
    const bool lazy = now.taste == Taste::kLazy;
    index_t taken = 0;
    while (taken < now.b && take(now.a, at)) ++taken;
    if (taken < now.b) return Outcome::kFailed;
    const index_t least = at;
    if (lazy) {
      const index_t left = now.c == Expression::kUnbounded ? -1 : now.c - taken;
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
        const Instruction& now = code_[static_cast<std::size_t>(next)];
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

  const std::vector<Instruction>& code_;
  const std::vector<CodeSet>& sets_;
  std::string_view text_;
  Span word_;
  Effort& effort_;
  index_t most_ways_;
  std::vector<Way> ways_;
};

}  // namespace

Pattern::Pattern(const Json& json) {
  auto program = std::make_unique<Program>();
  const auto regex = json.find("Regex");
  const Json written = regex ? *regex : json.at("String");
  const std::string_view text = written.text();
  if (text.size() > kMostPatternBytes) {
    written.fail("must have at most ", kMostPatternBytes, " bytes, got ", text.size());
  }
  const Expression expression = regex ? read_expression(text, written) : literal_expression(text);
  program->compile(expression, regex ? *regex : json);
  program->add({.op = Op::kMatch}, json);
  program->numbers.clear();
  if (!add_first(expression, program->first)) program->first.set();
  program_ = std::move(program);
}

Pattern::~Pattern() = default;
Pattern::Pattern(Pattern&&) noexcept = default;
Pattern& Pattern::operator=(Pattern&&) noexcept = default;

void Pattern::find(std::string_view text, Span word, std::vector<Span>& matches,
                   Effort* effort) const {
  Effort own(word.end - word.begin);
  Matcher matcher(program_->code, program_->sets, text, word, effort != nullptr ? *effort : own);
  index_t last = -1;  // where the last match ended; an empty one does not begin there
  for (index_t at = word.begin; at <= word.end;) {
    const bool inside = at < word.end;
    const auto byte =
        inside ? static_cast<unsigned char>(text[static_cast<std::size_t>(at)]) : 0x80u;
    index_t end = -1;
    if (byte >= 0x80 || program_->first[byte]) end = matcher.match(0, at);
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
