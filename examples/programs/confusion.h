// The confusion matrix of a classifier.
#pragma once

#include <functional>
#include <iosfwd>
#include <span>
#include <string>
#include <vector>

#include "models/pages/training_page.h"
#include "models/text/batches.h"
#include "tensor/tensor.h"

namespace tessera::examples {

/// Counts of pairs (label, answer), and what follows from them.
class Confusion {
 public:
  /// None yet.
  explicit Confusion(index_t classes);
  /// Counts the answers of a batch: the class with the largest of the scores (..., C) for each of the
  /// labels (...) but those below 0, which no class has. **Errors**: a number of answers other than
  /// that of labels; a label or an answer outside [0, classes).
  void add(const Tensor& labels, const Tensor& scores);

  /// Adds what the other processes have counted. All call it.
  void add_others();

  /// The share of answers that are right.
  double accuracy() const;

  /// The mean over classes of 2 t / (2 t + f), where t answers are right and f are wrong, because
  /// they name the class or because they miss it. Classes that are neither label nor answer do not
  /// count. **Source**: sklearn.metrics.f1_score, average "macro".
  double macro_f1() const;

  /// The counts for a page.
  pages::ClassCounts for_page(const std::string& title,
                              const std::vector<std::string>& names) const {
    return {title, names, counts_};
  }

  /// The counts with the names of the classes, a label a row, unless that is too wide to be read.
  void print(std::ostream& out, const std::vector<std::string>& names) const;

 private:
  void count(index_t label, index_t answer);

  std::vector<std::vector<index_t>> counts_;  // [label][answer]
};

/// Counts what the scores (..., C) of batches say of all examples, which the processes share out;
/// each has the counts of all. All call it. **Errors**: as Confusion::add.
Confusion confusion_of(std::span<const text::Example> examples, index_t classes, index_t pad,
                       const std::function<Tensor(const text::Batch& batch)>& scores_of);

}  // namespace tessera::examples
