#include "examples/programs/confusion_counter.h"

#include <utility>

#include <tessera/nn/training/batch_sampler.h>
#include <tessera/tensor/error.h>
#include <tessera/tensor/format.h>
#include <tessera/tensor/ops/reduce.h>

namespace tessera::examples {

ConfusionCounter::ConfusionCounter(std::vector<std::string> labels)
    : labels_(std::move(labels)), counts_(labels_.size(), std::vector<index_t>(labels_.size())) {}

void ConfusionCounter::add(const Tensor& labels, const Tensor& scores) {
  const std::vector<index_t> wanted = labels.flatten().to_vector<index_t>();
  const std::vector<index_t> answers = argmax(scores, {-1}).flatten().to_vector<index_t>();
  require(wanted.size() == answers.size(), "ConfusionCounter", "number of answers must be ",
          wanted.size(), ", that of labels, got ", answers.size());
  const auto place = [&](index_t number) {
    const index_t classes = std::ssize(counts_);
    require(0 <= number && number < classes, "ConfusionCounter", "class must be from 0 to ",
            classes - 1, ", got ", number);
    return static_cast<std::size_t>(number);
  };
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] >= 0) ++counts_[place(wanted[i])][place(answers[i])];
  }
}

double ConfusionCounter::accuracy() const {
  index_t right = 0, all = 0;
  for (std::size_t label = 0; label < counts_.size(); ++label) {
    right += counts_[label][label];
    for (const index_t count : counts_[label]) all += count;
  }
  return static_cast<double>(right) / static_cast<double>(all);
}

double ConfusionCounter::macro_f1() const {
  double sum = 0;
  index_t there = 0;
  for (std::size_t label = 0; label < counts_.size(); ++label) {
    index_t named_and_missed = 0;  // 2 t + f
    for (std::size_t other = 0; other < counts_.size(); ++other) {
      named_and_missed += counts_[label][other] + counts_[other][label];
    }
    if (named_and_missed == 0) continue;
    sum += 2 * static_cast<double>(counts_[label][label]) / static_cast<double>(named_and_missed);
    ++there;
  }
  return sum / static_cast<double>(there);
}

std::string ConfusionCounter::table() const {
  constexpr std::size_t kMostLabels = 100;
  if (labels_.size() > kMostLabels) {
    return str_cat("a table of ", labels_.size(), " labels is too wide to be read\n");
  }
  std::vector<std::vector<std::string>> rows = {labels_};
  rows.front().insert(rows.front().begin(), "");
  for (std::size_t label = 0; label < labels_.size(); ++label) {
    std::vector<std::string>& row = rows.emplace_back(1, labels_[label]);
    for (const index_t count : counts_[label]) row.push_back(std::to_string(count));
  }
  return "rows: the label, columns: what the model says\n\n" + in_columns(rows, 1);
}

ConfusionCounter confusion_of(std::span<const text::Example> examples,
                              std::vector<std::string> labels, index_t pad,
                              const std::function<Tensor(const text::Batch& batch)>& scores_of) {
  ConfusionCounter counts(std::move(labels));
  nn::BatchSampler sampler(text::lengths_of(examples), {.batch_size = 32, .shuffle = false});
  while (sampler.epoch() == 0) {
    const text::Batch batch = text::make_batch(examples, sampler.next(), pad);
    counts.add(batch.labels, scores_of(batch));
  }
  return counts;
}

}  // namespace tessera::examples
