// Mistakes that can be planted, and how the hint begins that each must get.
//
// output: O keeps its old terms
// sum: l keeps its old terms
// neither: m rises, but l and O keep their old terms
// inverse: the factor is exp(m - m'), below 1
// largest: m must rise to the largest score
// plain: weights are exp(s - m), not exp(s)
// fall: m must not fall
// per_key: the factor is applied once per key
// scale: scores must be divided by sqrt(d)
// last: the last tile, which has fewer keys, is missing
// divide: O must be divided by l
// head: each head has q, k and v of its own
#include <algorithm>
#include <cmath>

#include "examples/course/exercises/014_attention_ladder.h"
#include "tests/programs/mistakes/planted.h"

namespace tessera::exercises {

void take_tile(Running& running, const std::vector<double>& scores, const Matrix& values) {
  const bool is_first = running.sum == 0;
  double largest = planted("fall") ? scores[0] : running.largest;
  if (!planted("largest") || is_first) {
    for (const double s : scores) largest = std::max(largest, s);
  }
  const double change = is_first ? -INFINITY : running.largest - largest;
  const double factor = std::exp(planted("inverse") && !is_first ? -change : change);
  if (!planted("sum") && !planted("neither")) running.sum *= planted("plain") ? 1 : factor;
  for (double& o : running.out) {
    if (!planted("output") && !planted("neither")) o *= planted("plain") ? 1 : factor;
  }
  for (index_t j = 0; j < values.rows(); ++j) {
    const double s = scores[static_cast<std::size_t>(j)];
    const double weight = std::exp(planted("plain") ? s : s - largest);
    if (planted("per_key") && j > 0) {
      running.sum *= factor;
      for (double& o : running.out) o *= factor;
    }
    running.sum += weight;
    for (index_t c = 0; c < values.columns(); ++c) {
      running.out[static_cast<std::size_t>(c)] += weight * values(j, c);
    }
  }
  running.largest = largest;
}

/// Query i of a head, whose first column is `at`, by tiles of 128 keys.
Running attend_query(const bench::AttentionTask& task, index_t i, index_t at) {
  const index_t row = task.heads * task.width;
  const double scale = planted("scale") ? 1 : 1 / std::sqrt(static_cast<double>(task.width));
  Running running;
  running.out.resize(static_cast<std::size_t>(task.width));
  for (index_t first = 0; first < task.tokens; first += 128) {
    const index_t keys = std::min<index_t>(128, task.tokens - first);
    if (planted("last") && keys < 128 && first > 0) break;
    std::vector<double> scores;
    Matrix values(keys, task.width);
    for (index_t j = first; j < first + keys; ++j) {
      double s = 0;
      for (index_t p = 0; p < task.width; ++p) {
        s += static_cast<double>(task.q[i * row + at + p]) *
             static_cast<double>(task.k[j * row + at + p]);
        values(j - first, p) = static_cast<double>(task.v[j * row + at + p]);
      }
      scores.push_back(s * scale);
    }
    take_tile(running, scores, values);
  }
  return running;
}

void attend(const bench::AttentionTask& task) {
  for (index_t head = 0; head < task.heads; ++head) {
    for (index_t i = 0; i < task.tokens; ++i) {
      const Running x = attend_query(task, i, planted("head") ? 0 : head * task.width);
      for (index_t c = 0; c < task.width; ++c) {
        const double out = x.out[static_cast<std::size_t>(c)];
        task.out[(i * task.heads + head) * task.width + c] =
            static_cast<float>(planted("divide") ? out : out / x.sum);
      }
    }
  }
}

}  // namespace tessera::exercises
