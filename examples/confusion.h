// How often a classifier says what of which label.
#pragma once

#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "models/text/batches.h"

namespace tessera::examples {

/// Counts of pairs (label, answer), and what follows from them.
class Confusion {
 public:
  /// Example i has been given the class answers[i]. Errors: other than one answer an example; a
  /// label or an answer outside [0, classes).
  Confusion(std::span<const text::Example> examples, std::span<const index_t> answers,
            index_t classes);

  /// The share of answers that are right.
  double accuracy() const;

  /// The mean over classes of 2 t / (2 t + f), where t answers are right and f are wrong, because
  /// they name the class or because they miss it. Classes that are neither label nor answer do not
  /// count. **Source**: sklearn.metrics.f1_score, average "macro".
  double macro_f1() const;

  /// The counts with the names of the classes, a label a row, unless that is too wide to be read.
  void print(std::ostream& out, const std::vector<std::string>& names) const;

 private:
  std::vector<std::vector<index_t>> counts_;  // [label][answer]
};

}  // namespace tessera::examples
