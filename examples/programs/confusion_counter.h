// The confusion matrix of a classifier.
#pragma once

#include <functional>
#include <span>
#include <string>
#include <vector>

#include <tessera/models/pages/training_page.h>
#include <tessera/models/text/batches.h>
#include <tessera/tensor/tensor.h>

namespace tessera::examples {

/// Counts a confusion matrix, from which it computes figures.
class ConfusionCounter {
 public:
  explicit ConfusionCounter(std::vector<std::string> labels);
  /// Counts the answers of a batch: the class with the largest of the scores (..., C) for each of
  /// the labels (...), except negative labels. **Errors**: different numbers of answers and labels;
  /// a label or an answer outside [0, classes).
  void add(const Tensor& labels, const Tensor& scores);

  /// The fraction of correct answers.
  double accuracy() const;

  /// The mean over classes of 2 t / (2 t + f), where t answers are correct and f are wrong: they
  /// name this class for another, or another for this class. Classes that are neither label nor
  /// answer are ignored. **Source**: sklearn.metrics.f1_score, average "macro".
  double macro_f1() const;

  /// The counts for a page.
  pages::ConfusionMatrix for_page(const std::string& title) const {
    return {title, labels_, counts_};
  }

  /// The confusion matrix, one label per row; for more than 100 classes, a line that says that the
  /// matrix is too wide.
  std::string table() const;

 private:
  std::vector<std::string> labels_;
  std::vector<std::vector<index_t>> counts_;  // [label][answer]
};

/// The confusion matrix of the examples, of which there must be at least one, from the scores
/// (..., C) of batches. **Errors**: as ConfusionCounter::add.
ConfusionCounter confusion_of(std::span<const text::Example> examples,
                              std::vector<std::string> labels, index_t pad,
                              const std::function<Tensor(const text::Batch& batch)>& scores_of);

}  // namespace tessera::examples
