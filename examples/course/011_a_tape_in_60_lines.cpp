// Reverse-mode differentiation from nothing: 60 lines that do what the library's Tape does.
//
//     dx_k  =  sum over the ops that read x of  the part of x_k in dy    (the chain rule)
//
// Each op keeps its inputs, and a function that computes their parts from dy, the gradient of its
// result. An op must receive all parts of its own dy before it passes them on, so the ops run
// backward in the reverse of an order in which each follows its inputs.
//
// Source: Griewank and Walther, "Evaluating Derivatives", 2nd edition, 2008, chapter 3.
#include <cstdio>
#include <functional>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include <tessera/tensor/autograd/tape.h>
#include <tessera/tensor/create.h>
#include <tessera/tensor/ops/ops.h>
#include "examples/course/by_hand.h"
#include "examples/course/example.h"

using namespace tessera;
using namespace tessera::examples;

namespace {

// ---- the tape ----

using Parts = std::vector<Tensor>;  // of the gradients of an op's inputs

/// A value and how it was computed. A variable has no inputs.
struct Node {
  std::string name;
  Tensor value;
  std::vector<std::shared_ptr<Node>> inputs = {};
  std::function<Parts(const Tensor& dy)> backward = [](const Tensor&) { return Parts(); };
  Tensor grad = zeros_like(value);
};
using Var = std::shared_ptr<Node>;

Var make(Node node) {
  return std::make_shared<Node>(std::move(node));
}

Var operator+(const Var& a, const Var& b) {
  return make({"+", a->value + b->value, {a, b}, [](auto& dy) { return Parts{dy, dy}; }});
}
Var operator*(const Var& a, const Var& b) {
  const auto backward = [u = a->value, v = b->value](auto& dy) { return Parts{dy * v, dy * u}; };
  return make({"*", a->value * b->value, {a, b}, backward});
}
Var matmul(const Var& a, const Var& b) {
  const auto backward = [u = a->value, v = b->value](auto& dy) {
    return Parts{matmul(dy, v.t()), matmul(u.t(), dy)};
  };
  return make({"matmul", matmul(a->value, b->value), {a, b}, backward});
}
Var tanh(const Var& x) {
  const Tensor y = tanh(x->value);
  return make({"tanh", y, {x}, [y](auto& dy) { return Parts{dy * (1.0 - y * y)}; }});
}
Var sum(const Var& x) {
  const auto backward = [shape = x->value.shape()](auto& dy) { return Parts{dy.expand(shape)}; };
  return make({"sum", sum(x->value), {x}, backward});
}

/// Appends all from which `last` was computed, then `last`; each once.
void sort_nodes(const Var& last, std::set<Var>& seen, std::vector<Var>& order) {
  if (!seen.insert(last).second) return;
  for (const Var& input : last->inputs) sort_nodes(input, seen, order);
  order.push_back(last);
}

/// Adds to the gradient of each node; returns the nodes, each after its inputs.
std::vector<Var> backward(const Var& loss) {
  std::set<Var> seen;
  std::vector<Var> order;
  sort_nodes(loss, seen, order);
  loss->grad = ones_like(loss->value);
  for (auto node = order.rbegin(); node != order.rend(); ++node) {
    const Parts parts = (*node)->backward((*node)->grad);
    for (std::size_t i = 0; i < parts.size(); ++i) (*node)->inputs[i]->grad += parts[i];
  }
  return order;
}

// ---- compared with the library's ----

/// A layer with a residual connection, a second matrix, and a loss; T is Var or Tensor.
template <class T>
T loss_of(const T& x, const T& w1, const T& w2) {
  const T y = matmul(x + tanh(matmul(x, w1)), w2);
  return sum(y * y);
}

void a_small_network() {
  const Tensor x = tensor({{1.0, 0.5}, {-1.0, 2.0}}, kFloat64),
               w1 = tensor({{0.5, -1.0}, {1.0, 0.0}}, kFloat64),
               w2 = tensor({{1.0}, {-0.5}}, kFloat64);
  const Var u = make({"x", x}), v1 = make({"w1", w1}), v2 = make({"w2", w2});
  const Var loss = loss_of(u, v1, v2);
  std::printf("Step 1: Each value after its inputs\n");
  const std::vector<Var> order = backward(loss);
  for (const Var& node : order) {
    std::printf("%s%s", node->name.c_str(), node == loss ? "\n\n" : ", ");
  }
  std::printf("Step 2: The loss is %.4f, and the gradients are, from the last to the first\n",
              loss->value.item());
  for (auto at = order.rbegin(); at != order.rend(); ++at) {
    show("gradient of " + (*at)->name, (*at)->grad);
  }
  const Tensor tx = x.clone().set_requires_grad(), t1 = w1.clone().set_requires_grad(),
               t2 = w2.clone().set_requires_grad();
  Tape tape;
  tape.backward(loss_of(tx, t1, t2));
  check_close("dx", u->grad, tx.grad());
  check_close("dw1", v1->grad, t1.grad());
  check_close("dw2", v2->grad, t2.grad());
}

/// The number of ways from a node back to variables: the calls of a backward that follows each.
double paths_from(const Var& node) {
  double paths = node->inputs.empty() ? 1 : 0;
  for (const Var& input : node->inputs) paths += paths_from(input);
  return paths;
}

void twenty_doublings() {
  const Var x = make({"x", tensor(1.0)});
  Var h = x;
  for (int i = 0; i < 20; ++i) h = h + h;
  const std::size_t nodes = backward(h).size();
  std::printf("Step 3: h = h + h, twenty times\n");
  std::printf("paths from h to x: %.0f, nodes: %d, dx: %.0f\n", paths_from(h),
              static_cast<int>(nodes), x->grad.item());
}

}  // namespace

int main() {
  return run_example("011_a_tape_in_60_lines", [] {
    a_small_network();
    twenty_doublings();
  });
}
