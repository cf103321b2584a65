#include "examples/programs/word_pairs.h"

#include <algorithm>
#include <cmath>
#include <map>
#include <utility>

#include "nn/training/batch_sampler.h"
#include "tensor/error.h"

namespace tessera::examples {

namespace {

constexpr const char* kWordPairsOp = "word_pair_answers";

/// The row of each word and pair that the examples to learn from have.
class Rows {
 public:
  explicit Rows(std::span<const text::Example> train) {
    for (const text::Example& example : train) {
      for_each_feature(example,
                       [&](const Feature& feature) { numbers_.try_emplace(feature, size()); });
    }
  }

  index_t size() const { return std::ssize(numbers_); }

  /// The rows of one example.
  std::vector<index_t> of(const text::Example& example) const {
    std::vector<index_t> rows;
    for_each_feature(example, [&](const Feature& feature) {
      const auto found = numbers_.find(feature);
      if (found != numbers_.end()) rows.push_back(found->second);
    });
    return rows;
  }

 private:
  using Feature = std::pair<index_t, index_t>;  // a pair, or kNone and a word

  template <class F>
  static void for_each_feature(const text::Example& example, const F& f) {
    constexpr index_t kNone = -1;
    for (std::size_t t = 0; t < example.ids.size(); ++t) {
      f(Feature(kNone, example.ids[t]));
      if (t > 0) f(Feature(example.ids[t - 1], example.ids[t]));
    }
  }

  std::map<Feature, index_t> numbers_;
};

/// The rows themselves, and what they say of an example.
class Scores {
 public:
  Scores(index_t rows, index_t classes)
      : classes_(static_cast<std::size_t>(classes)),
        weights_(static_cast<std::size_t>(rows) * classes_),
        scores_(classes_) {}

  const std::vector<double>& operator()(const std::vector<index_t>& rows, double scale) {
    std::fill(scores_.begin(), scores_.end(), 0);
    for (const index_t row : rows) {
      const double* weights = row_at(row);
      for (std::size_t c = 0; c < classes_; ++c) scores_[c] += scale * weights[c];
    }
    return scores_;
  }

  /// A step against the gradient of the cross-entropy, softmax minus label.
  void learn(const std::vector<index_t>& rows, double scale, index_t label, double rate) {
    std::vector<double> p = (*this)(rows, scale);
    const double highest = *std::max_element(p.begin(), p.end());
    double sum = 0;
    for (double& score : p) sum += score = std::exp(score - highest);
    for (double& chance : p) chance /= sum;
    p[static_cast<std::size_t>(label)] -= 1;
    for (const index_t row : rows) {
      double* weights = row_at(row);
      for (std::size_t c = 0; c < classes_; ++c) weights[c] -= rate * scale * p[c];
    }
  }

 private:
  double* row_at(index_t row) { return weights_.data() + static_cast<std::size_t>(row) * classes_; }

  std::size_t classes_;
  std::vector<double> weights_;
  std::vector<double> scores_;
};

double scale_of(const text::Example& example) {
  return 1 / std::sqrt(std::max(1.0, 2 * static_cast<double>(example.ids.size()) - 1));
}

}  // namespace

std::vector<index_t> word_pair_answers(std::span<const text::Example> train,
                                       std::span<const text::Example> tested, index_t classes,
                                       const WordPairsOptions& options) {
  constexpr index_t kMostScores = index_t{1} << 24;
  const Rows rows(train);
  require(rows.size() <= kMostScores / classes, kWordPairsOp,
          "words and pairs times classes must be at most ", kMostScores, ", got ", rows.size(),
          " x ", classes, " classes");
  for (const text::Example& example : train) {
    const index_t label = text::class_of(example);
    require(0 <= label && label < classes, kWordPairsOp, "label must be from 0 to ", classes - 1,
            ", got ", label);
  }
  Scores scores(rows.size(), classes);
  nn::BatchSampler sampler(text::lengths_of(train), {.batch_size = 1});
  const auto steps = static_cast<double>(options.epochs * std::ssize(train));
  for (double step = 0; step < steps; ++step) {
    const text::Example& example = train[static_cast<std::size_t>(sampler.next().front())];
    scores.learn(rows.of(example), scale_of(example), text::class_of(example),
                 options.rate * (1 - step / steps));
  }
  std::vector<index_t> answers;
  for (const text::Example& example : tested) {
    const std::vector<double>& s = scores(rows.of(example), scale_of(example));
    answers.push_back(std::max_element(s.begin(), s.end()) - s.begin());
  }
  return answers;
}

}  // namespace tessera::examples
