// Regular expressions as trees: what pattern.h compiles.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "models/text/pipeline/code_set.h"
#include "tensor/io/json.h"

namespace tessera::text {

/// A part of a regular expression.
struct Expression {
  enum class Kind {
    kSequence,     // of `parts`
    kAlternative,  // the first of `parts` that leads to a match
    kSet,          // a code point of `set`
    kRepeat,       // of parts[0]: low to high times
    kLook,         // parts[0] follows, or does not if `negated`
    kAtomic,       // parts[0], as it matched first
    kLineStart,
    kLineEnd,
    kTextStart,
    kTextEnd,
  };
  enum class Taste { kGreedy, kLazy, kPossessive };

  Kind kind = Kind::kSequence;
  std::vector<Expression> parts;
  CodeSet set;
  int low = 0;
  int high = 0;  // kUnbounded: as often as can be
  Taste taste = Taste::kGreedy;
  bool negated = false;

  static constexpr int kUnbounded = -1;

  /// Whether it can match an empty text.
  bool may_be_empty() const;
};

/// Reads an expression. **Errors**: as Pattern; `json` is its place.
Expression read_expression(std::string_view text, const Json& json);
/// The expression that matches a literal text.
Expression literal_expression(std::string_view text);

}  // namespace tessera::text
