// One solution of each exercise of 011.
#include "examples/course/exercises/011_a_tape_in_60_lines.h"

namespace tessera::exercises {

std::vector<double> gradients(const std::vector<Op>& tape, const std::vector<double>& values) {
  std::vector<double> d(values.size(), 0);
  d.back() = 1;
  for (std::size_t i = tape.size(); i-- > 0;) {
    const auto [kind, a, b] = tape[i];
    if (kind == '+') {
      d[a] += d[i];
      d[b] += d[i];
    } else if (kind == '*') {
      d[a] += d[i] * values[b];
      d[b] += d[i] * values[a];
    }
  }
  return d;
}

void append(const Graph& graph, std::size_t node, std::vector<std::size_t>& order) {
  if (std::find(order.begin(), order.end(), node) != order.end()) return;
  for (const std::size_t input : graph[node]) append(graph, input, order);
  order.push_back(node);
}

std::vector<std::size_t> order_of(const Graph& graph, std::size_t last) {
  std::vector<std::size_t> order;
  append(graph, last, order);
  return order;
}

Matrix unbroadcast(const Matrix& dy, index_t rows, index_t columns) {
  Matrix dx(rows, columns);
  for (index_t i = 0; i < dy.rows(); ++i) {
    for (index_t j = 0; j < dy.columns(); ++j) {
      dx(rows == 1 ? 0 : i, columns == 1 ? 0 : j) += dy(i, j);
    }
  }
  return dx;
}

}  // namespace tessera::exercises
