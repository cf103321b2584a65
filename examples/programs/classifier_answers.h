// The answers of a trained classifier, and their output.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "examples/programs/classifier_data.h"
#include "examples/programs/confusion.h"
#include "models/classifier.h"

namespace tessera::examples {

/// The confusion matrix of the model.
Confusion confusion_of(const models::SequenceClassifier& model,
                       std::span<const text::Example> examples);

/// Prints the confusion matrix, and the accuracy as the last line.
void test(const models::SequenceClassifier& model, std::span<const text::Example> examples,
          const std::vector<std::string>& labels);

struct PredictOptions {
  index_t max_words;
  bool probabilities;  // of each class, under a first line that names the columns
};

/// Prints each line of standard input with the model's answer in front of it.
/// **Errors**: std::runtime_error with the number of a line that is not UTF-8.
void predict(const models::SequenceClassifier& model, const Names& names,
             const PredictOptions& options);

}  // namespace tessera::examples
