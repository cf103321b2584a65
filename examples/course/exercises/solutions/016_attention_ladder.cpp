// One solution of each exercise of 016.
#include <limits>

#include "bench/attention_ladder.h"
#include "examples/course/exercises/exercise.h"

namespace tessera::exercises {

/// The softmax of one query over the keys seen so far: m, l and O, and O / l is the output.
struct Running {
  double largest = -std::numeric_limits<double>::infinity();  // m, the largest score
  double sum = 0;                                             // l = sum of exp(s - m)
  std::vector<double> out;                                    // O = sum of exp(s - m) V, width d
};

void take_tile(Running& running, const std::vector<double>& scores, const Matrix& values) {
  double largest = running.largest;
  for (const double s : scores) largest = std::max(largest, s);
  const double factor = std::exp(running.largest - largest);
  running.sum *= factor;
  for (double& o : running.out) o *= factor;
  for (index_t j = 0; j < values.rows(); ++j) {
    const double weight = std::exp(scores[static_cast<std::size_t>(j)] - largest);
    running.sum += weight;
    for (index_t c = 0; c < values.columns(); ++c) {
      running.out[static_cast<std::size_t>(c)] += weight * values(j, c);
    }
  }
  running.largest = largest;
}

constexpr index_t kQueries = 64, kKeys = 128;

/// Some queries of a head and the present state of their outputs.
struct Queries {
  index_t count, width, row;  // rows of k, v and out are `row` numbers apart
  std::vector<float> q;       // transposed and scaled: (width, kQueries)
  std::vector<float> out, largest, sum;
  std::vector<float> scores;  // of a tile: (kKeys, kQueries)
};

void score(Queries& x, const float* k, index_t keys) {
  for (index_t j = 0; j < keys; ++j) {
    float* const scores = x.scores.data() + j * kQueries;
    std::fill_n(scores, kQueries, 0.0F);
    for (index_t p = 0; p < x.width; ++p) {
      const float element = k[j * x.row + p];
      const float* const q = x.q.data() + p * kQueries;
      for (index_t i = 0; i < kQueries; ++i) scores[i] += element * q[i];
    }
  }
}

void soften(Queries& x, index_t keys) {
  for (index_t i = 0; i < x.count; ++i) {
    float* const scores = x.scores.data() + i;
    float& largest = x.largest[static_cast<std::size_t>(i)];
    float& sum = x.sum[static_cast<std::size_t>(i)];
    const float before = largest;
    for (index_t j = 0; j < keys; ++j) largest = std::max(largest, scores[j * kQueries]);
    const float factor = std::exp(before - largest);
    sum *= factor;
    for (index_t c = 0; c < x.width; ++c)
      x.out[static_cast<std::size_t>(i * x.width + c)] *= factor;
    for (index_t j = 0; j < keys; ++j) {
      scores[j * kQueries] = std::exp(scores[j * kQueries] - largest);
      sum += scores[j * kQueries];
    }
  }
}

void weigh(Queries& x, const float* v, index_t keys) {
  for (index_t i = 0; i < x.count; ++i) {
    float* const out = x.out.data() + i * x.width;
    for (index_t j = 0; j < keys; ++j) {
      const float weight = x.scores[static_cast<std::size_t>(j * kQueries + i)];
      for (index_t c = 0; c < x.width; ++c) out[c] += weight * v[j * x.row + c];
    }
  }
}

void attend_queries(const bench::AttentionTask& task, index_t head, index_t first) {
  const auto places = [](index_t count) { return static_cast<std::size_t>(count); };
  Queries x = {std::min(kQueries, task.tokens - first),
               task.width,
               task.heads * task.width,
               std::vector<float>(places(task.width * kQueries)),
               std::vector<float>(places(kQueries * task.width)),
               std::vector<float>(places(kQueries), -INFINITY),
               std::vector<float>(places(kQueries)),
               std::vector<float>(places(kKeys * kQueries))};
  const float scale = 1 / std::sqrt(static_cast<float>(task.width));
  const index_t at = head * task.width;
  for (index_t i = 0; i < x.count; ++i) {
    for (index_t p = 0; p < x.width; ++p) {
      x.q[places(p * kQueries + i)] = task.q[(first + i) * x.row + at + p] * scale;
    }
  }
  for (index_t j = 0; j < task.tokens; j += kKeys) {
    const index_t keys = std::min(kKeys, task.tokens - j);
    score(x, task.k + j * x.row + at, keys);
    soften(x, keys);
    weigh(x, task.v + j * x.row + at, keys);
  }
  for (index_t i = 0; i < x.count; ++i) {
    for (index_t c = 0; c < x.width; ++c) {
      task.out[(first + i) * x.row + at + c] = x.out[places(i * x.width + c)] / x.sum[places(i)];
    }
  }
}

void attend(const bench::AttentionTask& task) {
  for (index_t head = 0; head < task.heads; ++head) {
    for (index_t first = 0; first < task.tokens; first += kQueries) {
      attend_queries(task, head, first);
    }
  }
}

}  // namespace tessera::exercises
