#include "tessera/models/inspect/attribution.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "tessera/nn/hook.h"
#include "tessera/tensor/create.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/reduce.h"

namespace tessera::inspect {

namespace {

/// A hook point, what was put in its place, and the score's gradient there, (B, T, D).
struct Point {
  Tensor value;
  Tensor gradient;
  double score = 0;
};

/// The score's gradient where `at(value)` takes the place of the hook point's value.
Point gradient_at(const char* op, const Score& score, const std::string& name,
                  const std::function<Tensor(const nn::HookPoint& point)>& at) {
  Tensor leaf;
  UnpaddedRows unpadded;
  const nn::Hook hook(name, [&](const nn::HookPoint& point) {
    require(!leaf.defined(), op, "score must compute one hook point ", name, ", got several");
    unpadded = point.unpadded;
    leaf = at(point).detach().clone();
    leaf.set_requires_grad();
    return leaf;
  });
  const double value = backward(op, score);
  require(leaf.defined() && leaf.grad().defined(), op, "score must depend on ", name);
  require(std::isfinite(value), op, "score must be finite, got ", value);
  return {unpadded.pad(leaf.detach()), unpadded.pad(leaf.grad()), value};
}

}  // namespace

Tensor input_x_gradient(const Score& score, const std::string& hook_point) {
  const Point at = gradient_at("input_x_gradient", score, hook_point,
                               [](const nn::HookPoint& x) { return x.value; });
  return sum(at.value * at.gradient, {-1});
}

namespace {

/// The score and its gradient on the way from the baseline to the input.
struct Node {
  double at;  // 0 at the baseline, 1 at the input
  Point point;
  double slope;  // of the score along the way
};

/// By how much the trapezoid between two nodes misses the score's change there.
/// A part of what it could miss counts too, for a trapezoid that fits by chance.
double miss(const Node& a, const Node& b) {
  constexpr double kPart = 1.0 / 64;
  const double found = (b.at - a.at) * (a.slope + b.slope) / 2 - (b.point.score - a.point.score);
  return std::max(std::abs(found), kPart * (b.at - a.at) * std::abs(b.slope - a.slope));
}

double width(const Node& a, const Node& b) {
  return b.at - a.at;
}

/// The node after the interval for which `size` is largest.
std::vector<Node>::iterator after_largest(std::vector<Node>& nodes,
                                          double (*size)(const Node& a, const Node& b)) {
  auto largest = nodes.begin() + 1;
  for (auto node = largest + 1; node != nodes.end(); ++node) {
    if (size(*(node - 1), *node) > size(*(largest - 1), *largest)) largest = node;
  }
  return largest;
}

/// Intervals of equal width in the beginning, so that the first choices see the whole way.
constexpr index_t kFirstIntervals = 8;

}  // namespace

Attribution integrated_gradients(const Score& score, const IntegratedGradientsOptions& options) {
  constexpr const char* kOp = "integrated_gradients";
  require(options.points >= 2, kOp, "points must be at least 2, got ", options.points);
  const auto point_at = [&](double a) {
    return gradient_at(kOp, score, options.hook_point, [&](const nn::HookPoint& point) {
      const Tensor x = point.value.detach();
      if (!options.baseline.defined()) return x * a;
      Tensor baseline = options.baseline.detach().to(x.dtype());
      const UnpaddedRows& unpadded = point.unpadded;
      const bool is_padded = unpadded && baseline.rank() == 3 &&
                             baseline.size(0) == unpadded.batch() &&
                             baseline.size(1) == unpadded.padded_length();
      if (is_padded) baseline = unpadded.unpad(baseline);
      require(broadcasts_to(baseline.shape(), x.shape()), kOp, "baseline must broadcast to ",
              x.shape(), ", got ", baseline.shape());
      return baseline * (1 - a) + x * a;
    });
  };
  const Point input = point_at(1);
  const Point baseline = point_at(0);
  const Tensor way = input.value - baseline.value;
  const auto node = [&](double a, Point point) {
    const double slope = sum((way * point.gradient).to(kFloat64)).item();
    return Node{a, std::move(point), slope};
  };
  std::vector<Node> nodes = {node(0, baseline), node(1, input)};
  for (index_t count = 2; count < options.points; ++count) {
    const auto next = after_largest(nodes, count <= kFirstIntervals ? width : miss);
    const double a = ((next - 1)->at + next->at) / 2;
    nodes.insert(next, node(a, point_at(a)));
  }
  Tensor integral = zeros_like(way);
  for (std::size_t i = 1; i < nodes.size(); ++i) {
    const Tensor both = nodes[i - 1].point.gradient + nodes[i].point.gradient;
    integral = integral + both * ((nodes[i].at - nodes[i - 1].at) / 2);
  }
  Attribution result = {
      .rows = sum(way * integral, {-1}), .score = input.score, .baseline = baseline.score};
  result.error = sum(result.rows.to(kFloat64)).item() - (result.score - result.baseline);
  return result;
}

}  // namespace tessera::inspect
