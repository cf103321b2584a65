#include "examples/course/exercises/check.h"

namespace tessera::exercises::checks {

void parts_are_added() {
  // f = (x y + x)^2 with x = 2 and y = 5
  const std::vector<Op> tape = {{'x'}, {'x'}, {'*', 0, 1}, {'+', 2, 0}, {'*', 3, 3}};
  const std::vector<double> found = gradients(tape, {2, 5, 10, 12, 144});
  expect_close("gradients of (x y + x)^2", Matrix(1, std::ssize(found), found),
               {{144, 48, 24, 24, 1}},
               {{{{120, 48, 24, 24, 1}}, "a number that two ops read gets two parts: add them"},
                {{{72, 24, 12, 12, 1}}, "both inputs of a square are number 3: add both parts"},
                {{{72, 120, 24, 24, 1}}, "the part of a is dy times b, not dy times a"},
                {{{0, 0, 0, 24, 1}}, "go from the last op to the first"},
                {{{0, 0, 0, 0, 0}}, "the gradient of the last number itself is 1"}});
}

void inputs_come_first() {
  const Graph graph = {{}, {}, {0, 1}, {2, 0}, {3, 3}, {4}};
  const std::vector<std::size_t> order = order_of(graph, 4);
  for (std::size_t node = 0; node < 5; ++node) {
    const auto count = std::count(order.begin(), order.end(), node);
    expect(count > 0, str_cat("order_of: must contain node ", node, ", from which 4 is computed"),
           "visit the inputs of each node, and their inputs");
    expect(count == 1, str_cat("order_of: must contain node ", node, " once, got ", count),
           "a node that two nodes read must be appended only once");
  }
  expect(order.size() == 5, str_cat("order_of: must have 5 nodes, got ", order.size()),
         "begin with `last`: node 5 is not needed for node 4");
  std::vector<bool> done(graph.size());
  for (const std::size_t node : order) {
    for (const std::size_t input : graph[node]) {
      expect(done[input], str_cat("order_of: node ", input, " must be before node ", node),
             "append a node after its inputs");
    }
    done[node] = true;
  }
}

void broadcast_axes_are_summed() {
  const Matrix dy = {{1, 2, 3}, {4, 5, 6}};
  const std::string all = "the whole row or column adds up: each element was read several times";
  expect_close("unbroadcast(dy, 1, 3)", unbroadcast(dy, 1, 3), {{5, 7, 9}},
               {{{{2.5, 3.5, 4.5}}, "this is the mean; the parts must be added"},
                {{{4, 5, 6}}, all},
                {{{1, 2, 3}}, all}});
  expect_close("unbroadcast(dy, 2, 1)", unbroadcast(dy, 2, 1), {{6}, {15}});
  expect_close("unbroadcast(dy, 1, 1)", unbroadcast(dy, 1, 1), {{21}});
  expect_close("unbroadcast(dy, 2, 3)", unbroadcast(dy, 2, 3), dy);
}

std::vector<Exercise> all_exercises() {
  return {
      {"011.1 gradients", "d of the last number is 1; each op adds to d of its two inputs",
       parts_are_added},
      {"011.2 order_of", "a recursive function: first all inputs, then the node itself",
       inputs_come_first},
      {"011.3 unbroadcast", "add dy(i, j) to row 0 if rows is 1, to column 0 if columns is 1",
       broadcast_axes_are_summed},
  };
}

}  // namespace tessera::exercises::checks
