#include "examples/programs/confusion_counter.h"

#include <algorithm>
#include <ostream>

#include "nn/training/batch_sampler.h"
#include "tensor/error.h"
#include "tensor/ops/ops.h"

namespace tessera::examples {

ConfusionCounter::ConfusionCounter(index_t classes)
    : counts_(static_cast<std::size_t>(classes),
              std::vector<index_t>(static_cast<std::size_t>(classes))) {}

void ConfusionCounter::count(index_t label, index_t answer) {
  const auto place = [&](index_t number) {
    const index_t classes = std::ssize(counts_);
    require(0 <= number && number < classes, "ConfusionCounter", "class must be from 0 to ",
            classes - 1, ", got ", number);
    return static_cast<std::size_t>(number);
  };
  ++counts_[place(label)][place(answer)];
}

void ConfusionCounter::add(const Tensor& labels, const Tensor& scores) {
  const std::vector<index_t> wanted = labels.flatten().to_vector<index_t>();
  const std::vector<index_t> answers = argmax(scores, {-1}).flatten().to_vector<index_t>();
  require(wanted.size() == answers.size(), "ConfusionCounter", "number of answers must be ",
          wanted.size(), ", that of labels, got ", answers.size());
  for (std::size_t i = 0; i < wanted.size(); ++i) {
    if (wanted[i] >= 0) count(wanted[i], answers[i]);
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

void ConfusionCounter::print(std::ostream& out, const std::vector<std::string>& names) const {
  constexpr std::size_t kMostColumns = 1000;
  std::size_t width = 6;
  for (const std::string& name : names) width = std::max(width, name.size() + 1);
  if (width > kMostColumns / (names.size() + 1)) {
    out << "a table of " << names.size() << " labels is too wide to be read\n";
    return;
  }
  const auto cell = [&](const std::string& text) {
    out << std::string(width - std::min(width, text.size()), ' ') << text;
  };
  out << "rows: the label, columns: what the model says\n\n";
  cell("");
  for (const std::string& name : names) cell(name);
  out << '\n';
  for (std::size_t label = 0; label < counts_.size(); ++label) {
    cell(names[label]);
    for (const index_t count : counts_[label]) cell(std::to_string(count));
    out << '\n';
  }
}

ConfusionCounter confusion_of(std::span<const text::Example> examples, index_t classes, index_t pad,
                              const std::function<Tensor(const text::Batch& batch)>& scores_of) {
  ConfusionCounter counts(classes);
  nn::BatchSampler sampler(text::lengths_of(examples), {.batch_size = 32, .shuffle = false});
  while (sampler.epoch() == 0) {
    const text::Batch batch = text::make_batch(examples, sampler.next(), pad);
    counts.add(batch.labels, scores_of(batch));
  }
  return counts;
}

}  // namespace tessera::examples
