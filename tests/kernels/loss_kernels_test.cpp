#include "tessera/tensor/error.h"
#include "tests/support/floats.h"
#include "tests/support/support.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using kernels::CrossEntropyArgs;
using kernels::PointwiseLoss;
using kernels::PointwiseLossArgs;

class LossKernelsTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, LossKernelsTest, each_isa(), isa_name);

/// The loss of a row, and its gradient, by the definition.
template <class T>
Wide<T> naive_row(const std::vector<T>& x, index_t target, const std::vector<T>& weight,
                  T smoothing, T scale, std::vector<Wide<T>>& dx) {
  using W = Wide<T>;
  const auto n = static_cast<W>(x.size());
  W largest = x[0];
  W weights = 0;
  for (const T value : x) largest = std::max(largest, static_cast<W>(value));
  for (const T w : weight) weights += static_cast<W>(w);
  W sum = 0;
  for (const T value : x) sum += std::exp(static_cast<W>(value) - largest);
  const W of_target = (1 - static_cast<W>(smoothing)) * weight[static_cast<std::size_t>(target)];
  W loss = 0;
  for (std::size_t c = 0; c < x.size(); ++c) {
    const W log_p = static_cast<W>(x[c]) - largest - std::log(sum);
    const W share = static_cast<W>(smoothing) / n * static_cast<W>(weight[c]) +
                    (static_cast<index_t>(c) == target ? of_target : 0);
    const W all = static_cast<W>(smoothing) / n * weights + of_target;
    loss -= share * log_p;
    dx.push_back(static_cast<W>(scale) * (all * std::exp(log_p) - share));
  }
  return loss;
}

// Rows with a gap between them, misaligned, between guards; one row of three is ignored.
template <class T>
void expect_cross_entropy(index_t classes, T smoothing, bool weighted) {
  SCOPED_TRACE(str_cat("classes ", classes, ", smoothing ", smoothing, ", weighted ", weighted));
  constexpr index_t kRows = 3;
  const index_t x_row = classes + 2;
  const std::vector<T> values = random_values<T>((kRows - 1) * x_row + classes, 5, -8, 8);
  const std::vector<T> weights = weighted ? random_values<T>(classes, 6, 0.5, 2)
                                          : std::vector<T>(static_cast<std::size_t>(classes), T{1});
  const std::vector<index_t> targets = {classes - 1, -7, classes / 2};
  Guarded<T> x(values, classes % 5);
  Guarded<T> weight(weights, classes % 3);
  Guarded<T> loss(kRows, 1);
  Guarded<T> dx(kRows * classes, classes % 7);
  T total = 0;
  for (const T w : weights) total += w;
  CrossEntropyArgs<T> args = {.rows = kRows,
                              .classes = classes,
                              .x = x.data(),
                              .x_row = x_row,
                              .targets = targets.data(),
                              .ignored = -7,
                              .smoothing = smoothing,
                              .weight = weighted ? weight.data() : nullptr,
                              .weight_sum = total,
                              .loss = loss.data(),
                              .dx = dx.data(),
                              .gradient_scale = T{0.25}};
  kernels::table<T>().cross_entropy(args);
  const T small = sizeof(T) == sizeof(float) ? T(1e-5) : T(1e-13);
  std::vector<Wide<T>> want_loss, want_dx;
  for (index_t row = 0; row < kRows; ++row) {
    const auto begin = values.begin() + row * x_row;
    const index_t target = targets[static_cast<std::size_t>(row)];
    if (target == -7) {
      want_loss.push_back(0);
      want_dx.insert(want_dx.end(), static_cast<std::size_t>(classes), 0);
    } else {
      want_loss.push_back(naive_row<T>({begin, begin + classes}, target, weights, smoothing,
                                       args.gradient_scale, want_dx));
    }
  }
  EXPECT_TRUE(near(loss.values(), want_loss, 8, small));
  EXPECT_TRUE(near(dx.values(), want_dx, 8, small / 10));
  const std::vector<T> with_gradient = loss.values();
  args.dx = nullptr;
  kernels::table<T>().cross_entropy(args);
  EXPECT_TRUE(same_bits(loss.values(), with_gradient)) << "without a gradient";
  EXPECT_TRUE(loss.intact());
  EXPECT_TRUE(dx.intact());
}

TEST_P(LossKernelsTest, CrossEntropy) {
  for (const index_t classes : {1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 64, 100, 511, 513, 1500}) {
    for (const bool weighted : {false, true}) {
      for_floats([&]<class T>(T) { expect_cross_entropy<T>(classes, 0, weighted); });
      expect_cross_entropy<float>(classes, 0.125F, weighted);
      expect_cross_entropy<double>(classes, 0.125, weighted);
    }
  }
}

constexpr PointwiseLoss kPointwiseLosses[] = {
    PointwiseLoss::kSquaredError, PointwiseLoss::kBceWithLogits, PointwiseLoss::kSmoothL1};

template <class T>
void expect_pointwise(PointwiseLoss kind, index_t n, bool weighted) {
  SCOPED_TRACE(str_cat("n ", n, ", weighted ", weighted));
  using W = Wide<T>;
  const std::vector<T> xs = random_values<T>(n, 7, -30, 30);
  const std::vector<T> ts = random_values<T>(n, 8, 0, 1);
  const std::vector<T> ws = random_values<T>(n, 9, 0.5, 2);
  const std::vector<T> ps = random_values<T>(n, 10, 0.5, 2);
  Guarded<T> x(xs, n % 5), t(ts, n % 3), w(ws, n % 7), p(ps, n % 2), loss(n, n % 11), dx(n, n % 13);
  PointwiseLossArgs<T> args = {.n = n,
                               .x = x.data(),
                               .target = t.data(),
                               .weight = weighted ? w.data() : nullptr,
                               .positive_weight = weighted ? p.data() : nullptr,
                               .loss = loss.data(),
                               .dx = dx.data(),
                               .gradient_scale = T{0.25},
                               .beta = T{4}};
  kernels::table<T>().pointwise_loss(kind, args);
  std::vector<W> want_loss, want_dx;
  for (std::size_t i = 0; i < xs.size(); ++i) {
    const W z = xs[i];
    const W target = ts[i];
    const W weight = weighted ? static_cast<W>(ws[i]) : 1;
    const W positive = weighted ? static_cast<W>(ps[i]) : 1;
    if (kind == PointwiseLoss::kSquaredError) {
      want_loss.push_back(weight * (z - target) * (z - target));
      want_dx.push_back(weight * (z - target) / 2);
    } else if (kind == PointwiseLoss::kSmoothL1) {
      const W d = z - target;
      const bool near_zero = std::fabs(d) < 4;
      want_loss.push_back(weight * (near_zero ? d * d / 8 : std::fabs(d) - 2));
      want_dx.push_back(weight * (near_zero ? d / 4 : d < 0 ? -1 : 1) / 4);
    } else {
      const W e = std::exp(-std::fabs(z));
      const W of_negative = std::max(z, W{0}) + std::log1p(e);
      const W of_positive = std::max(-z, W{0}) + std::log1p(e);
      const W sigmoid = (z < 0 ? e : 1) / (1 + e);
      const W other = (z < 0 ? 1 : e) / (1 + e);
      want_loss.push_back(weight * ((1 - target) * of_negative + positive * target * of_positive));
      want_dx.push_back(weight * ((1 - target) * sigmoid - positive * target * other) / 4);
    }
  }
  const double small = sizeof(T) == sizeof(float) ? 1e-7 : 1e-16;  // of differences near 0
  EXPECT_TRUE(near(loss.values(), want_loss, 10));
  EXPECT_TRUE(near(dx.values(), want_dx, 10, small));
  EXPECT_TRUE(loss.intact());
  EXPECT_TRUE(dx.intact());
}

TEST_P(LossKernelsTest, Pointwise) {
  for (const PointwiseLoss kind : kPointwiseLosses) {
    for (const index_t n : {0, 1, 2, 3, 4, 7, 8, 9, 15, 16, 17, 31, 32, 33, 1000}) {
      for (const bool weighted : {false, true}) {
        for_floats([&]<class T>(T) { expect_pointwise<T>(kind, n, weighted); });
      }
    }
  }
}

// The bits of an element do not depend on its position in a vector.
template <class T>
void expect_cuts_change_nothing(PointwiseLoss kind, bool weighted) {
  constexpr index_t kCount = 70;
  const std::vector<T> x = random_values<T>(kCount, 7, -5, 5);
  const std::vector<T> t = random_values<T>(kCount, 8, 0, 1);
  const std::vector<T> w = random_values<T>(kCount, 9, 0.5, 2);
  const auto losses = [&](index_t cut) {
    std::vector<T> both(2 * kCount);
    for (const auto& [begin, end] : {std::pair{index_t{0}, cut}, std::pair{cut, kCount}}) {
      kernels::table<T>().pointwise_loss(kind,
                                         {.n = end - begin,
                                          .x = x.data() + begin,
                                          .target = t.data() + begin,
                                          .weight = weighted ? w.data() + begin : nullptr,
                                          .positive_weight = weighted ? w.data() + begin : nullptr,
                                          .loss = both.data() + begin,
                                          .dx = both.data() + kCount + begin,
                                          .gradient_scale = T(0.3)});
    }
    return both;
  };
  const std::vector<T> want = losses(0);
  for (index_t cut = 1; cut <= kCount; ++cut) {
    EXPECT_TRUE(same_bits(losses(cut), want)) << "cut at " << cut;
  }
}

template <class T>
void expect_smooth_l1(T beta, std::vector<T> x, const std::vector<T>& loss,
                      const std::vector<T>& slope) {
  const std::vector<T> zeros(x.size());
  std::vector<T> got(x.size());
  std::vector<T> dx(x.size());
  kernels::table<T>().pointwise_loss(PointwiseLoss::kSmoothL1, {.n = static_cast<index_t>(x.size()),
                                                                .x = x.data(),
                                                                .target = zeros.data(),
                                                                .loss = got.data(),
                                                                .dx = dx.data(),
                                                                .beta = beta});
  EXPECT_TRUE(same_bits(got, loss));
  EXPECT_TRUE(same_bits(dx, slope));
}

TEST_P(LossKernelsTest, SmoothL1AtItsSeamAtZeroAndBeyond) {
  const double inf = std::numeric_limits<double>::infinity();
  const double nan = std::numeric_limits<double>::quiet_NaN();
  expect_smooth_l1<double>(2, {0, 1, 2, -2, 3, -inf, nan}, {0, 0.25, 1, 1, 2, inf, nan},
                           {0, 0.5, 1, -1, 1, -1, nan});
  expect_smooth_l1<float>(0, {0, -1e-30F, 5}, {0, 1e-30F, 5}, {0, -1, 1});
}

TEST_P(LossKernelsTest, ACutChangesNoBit) {
  for (const PointwiseLoss kind : kPointwiseLosses) {
    for (const bool weighted : {false, true}) {
      for_floats([&]<class T>(T) { expect_cuts_change_nothing<T>(kind, weighted); });
    }
  }
}

}  // namespace
}  // namespace tessera::test
