// Regular expressions compiled to the steps that pattern.h takes.
#pragma once

#include <bitset>
#include <cstdint>
#include <string_view>
#include <vector>

#include "models/text/detail/code_set.h"
#include "tensor/io/json.h"

namespace tessera::text {

/// What one step does. Steps are given relative to this one.
enum class Op : std::uint8_t {
  kSet,     // a code point of sets[a]
  kRepeat,  // b to c code points of sets[a]
  kFork,    // goes on at step a; if that fails, at step b
  kJump,    // goes on at step a
  kLook,    // what follows up to kMatch, without moving; then goes on at step a
  kAtomic,  // what follows up to kMatch, once; then goes on at step a
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
  int c = 0;  // kUnbounded: as often as can be
  Taste taste = Taste::kGreedy;
  bool negated = false;

  static constexpr int kUnbounded = -1;
};

/// The steps of an expression or of a part of one.
struct Steps {
  std::vector<Step> steps;
  std::bitset<128> first;    // the ASCII characters with which a match may begin
  bool may_be_empty = true;  // then what follows counts for `first` as well
};

/// A whole expression; its last step is kMatch.
struct Expression {
  Steps all;
  std::vector<CodeSet> sets;
};

/// Reads a regular expression, or a text that stands for itself. **Errors**: as Pattern; `json` is
/// their place.
Expression read_expression(std::string_view text, const Json& json);
Expression literal_expression(std::string_view text, const Json& json);

}  // namespace tessera::text
