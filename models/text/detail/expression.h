// Regular expressions compiled to the steps of pattern.h.
#pragma once

#include <bitset>
#include <cstdint>
#include <string_view>
#include <vector>

#include "tessera/models/text/detail/code_set.h"
#include "tessera/tensor/io/json.h"

namespace tessera::text {

/// The operation of a step. Targets are relative to the step.
enum class Op : std::uint8_t {
  kSet,     // a code point of sets[a]
  kRepeat,  // b to c code points of sets[a]
  kFork,    // continues at step a; if that fails, at step b
  kJump,    // continues at step a
  kLook,    // matches the steps up to kMatch without moving; then continues at step a
  kAtomic,  // matches the steps up to kMatch, once; then continues at step a
  kLineStart,
  kLineEnd,
  kTextStart,
  kTextEnd,
  kMatch,
};
enum class Taste : std::uint8_t { kGreedy, kLazy, kPossessive };

struct Step {
  Op op;
  int a = 0;
  int b = 0;
  int c = 0;  // kUnbounded: no limit
  Taste taste = Taste::kGreedy;
  bool negated = false;

  static constexpr int kUnbounded = -1;
};

/// The steps of an expression or of a part of one.
struct Steps {
  std::vector<Step> steps;
  std::bitset<128> first;    // the ASCII characters that can begin a match
  bool may_be_empty = true;  // then `first` also depends on the next steps
};

/// A whole expression; its last step is kMatch.
struct Expression {
  Steps all;
  std::vector<CodeSet> sets;
};

/// Reads a regular expression or a literal text. **Errors**: as Pattern; `json` is their place.
Expression read_expression(std::string_view text, const Json& json);
Expression literal_expression(std::string_view text, const Json& json);

}  // namespace tessera::text
