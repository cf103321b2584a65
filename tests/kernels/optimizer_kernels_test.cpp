#include "tessera/tensor/error.h"
#include "tests/support/floats.h"
#include "tests/support/support.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using kernels::AdamArgs;
using kernels::SgdArgs;

class OptimizerKernelsTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, OptimizerKernelsTest, each_isa(), isa_name);

const std::vector<index_t> kSizes = {0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 32, 33, 100, 1000};

/// Three steps of weights, gradients and two buffers, misaligned and between guards.
template <class T>
struct Buffers {
  explicit Buffers(index_t n)
      : start(random_values<T>(n, 1)),
        gradients(random_values<T>(n, 2)),
        w(start, n % 5),
        g(gradients, n % 3),
        first(n, n % 7),
        second(n, n % 11) {}

  std::vector<T> start, gradients;
  Guarded<T> w, g, first, second;

  ::testing::AssertionResult intact() {
    for (Guarded<T>* buffer : {&w, &g, &first, &second}) {
      const auto result = buffer->intact();
      if (!result) return result;
    }
    return ::testing::AssertionSuccess();
  }
};

template <class T>
constexpr double kSmall = sizeof(T) == sizeof(float) ? 3e-7 : 1e-15;

template <class T>
void expect_sgd(index_t n, bool momentum, bool nesterov) {
  SCOPED_TRACE(str_cat("n ", n, ", momentum ", momentum, ", nesterov ", nesterov));
  Buffers<T> buffers(n);
  SgdArgs<T> args = {.n = n,
                     .w = buffers.w.data(),
                     .gradient = buffers.g.data(),
                     .buffer = momentum ? buffers.first.data() : nullptr,
                     .first = true,
                     .nesterov = nesterov,
                     .rate = T(0.1),
                     .weight_decay = T(0.05),
                     .momentum = T(0.9),
                     .gain = T(0.7)};
  for (int step = 0; step < 3; ++step, args.first = false) kernels::table<T>().sgd(args);
  std::vector<Wide<T>> want;
  for (std::size_t i = 0; i < buffers.start.size(); ++i) {
    Wide<T> w = buffers.start[i];
    Wide<T> b = 0;
    for (int step = 0; step < 3; ++step) {
      const Wide<T> g = buffers.gradients[i] + Wide<T>(args.weight_decay) * w;
      b = step == 0 ? g : args.momentum * b + args.gain * g;
      w -= args.rate * (!momentum ? g : nesterov ? g + args.momentum * b : b);
    }
    want.push_back(w);
  }
  EXPECT_TRUE(near(buffers.w.values(), want, 4, kSmall<T>));
  EXPECT_TRUE(buffers.intact());
}

TEST_P(OptimizerKernelsTest, Sgd) {
  for (const index_t n : kSizes) {
    for_floats([&]<class T>(T) { expect_sgd<T>(n, false, false); });
    for (const bool nesterov : {false, true}) {
      for_floats([&]<class T>(T) { expect_sgd<T>(n, true, nesterov); });
    }
  }
}

template <class T>
void expect_adam(index_t n, T l2, T keep) {
  SCOPED_TRACE(str_cat("n ", n, ", l2 ", l2, ", keep ", keep));
  Buffers<T> buffers(n);
  AdamArgs<T> args = {.n = n,
                      .w = buffers.w.data(),
                      .gradient = buffers.g.data(),
                      .m = buffers.first.data(),
                      .v = buffers.second.data(),
                      .l2 = l2,
                      .keep = keep,
                      .beta1 = T(0.75),
                      .gain1 = T(0.25),
                      .beta2 = T(0.875),
                      .gain2 = T(0.125),
                      .step = T(0.01),
                      .root = T(0.5),
                      .eps = T(1e-3)};
  for (int step = 0; step < 3; ++step) kernels::table<T>().adam(args);
  std::vector<Wide<T>> want;
  for (std::size_t i = 0; i < buffers.start.size(); ++i) {
    Wide<T> w = buffers.start[i];
    Wide<T> m = 0;
    Wide<T> v = 0;
    for (int step = 0; step < 3; ++step) {
      const Wide<T> g = buffers.gradients[i] + l2 * w;
      m = args.beta1 * m + args.gain1 * g;
      v = args.beta2 * v + args.gain2 * g * g;
      w = keep * w - args.step * m / (std::sqrt(v) / args.root + args.eps);
    }
    want.push_back(w);
  }
  EXPECT_TRUE(near(buffers.w.values(), want, 4, kSmall<T>));
  EXPECT_TRUE(buffers.intact());
}

TEST_P(OptimizerKernelsTest, Adam) {
  for (const index_t n : kSizes) {
    expect_adam<float>(n, 0.1F, 1);
    expect_adam<double>(n, 0.1, 1);
    expect_adam<float>(n, 0, 0.99F);
    expect_adam<double>(n, 0, 0.99);
  }
}

/// Whether a step of n elements gives the same bits as one step for the elements before a cut and
/// one for those after it, for each cut: the bits must not depend on the position in a vector.
/// `place(args, first, second)` sets the buffers of args.
template <class T, class Args, class Place>
void expect_cuts_change_nothing(const Args& plain, void (*kernel)(const Args&) noexcept,
                                const Place& place) {
  constexpr index_t kCount = 70;
  const auto weights = [&](index_t cut) {
    Buffers<T> buffers(kCount);
    for (int step = 0; step < 3; ++step) {
      for (const auto& [begin, end] : {std::pair{index_t{0}, cut}, std::pair{cut, kCount}}) {
        Args args = plain;
        args.n = end - begin;
        args.w = buffers.w.data() + begin;
        args.gradient = buffers.g.data() + begin;
        place(args, buffers.first.data() + begin, buffers.second.data() + begin);
        kernel(args);
      }
    }
    return buffers.w.values();
  };
  const std::vector<T> want = weights(0);
  for (index_t cut = 1; cut <= kCount; ++cut) {
    EXPECT_TRUE(same_bits(weights(cut), want)) << "cut at " << cut;
  }
}

template <class T>
void expect_cuts_change_nothing() {
  const auto& table = kernels::table<T>();
  for (const T decay : {T(0), T(0.05)}) {
    AdamArgs<T> adam = {};
    adam.l2 = decay;
    adam.keep = T(0.99);
    adam.beta1 = T(0.9);
    adam.gain1 = T(0.1);
    adam.beta2 = T(0.95);
    adam.gain2 = T(0.05);
    adam.step = T(0.01);
    adam.root = T(0.3);
    adam.eps = T(1e-6);
    expect_cuts_change_nothing<T>(adam, table.adam, [](AdamArgs<T>& args, T* first, T* second) {
      args.m = first;
      args.v = second;
    });
    for (const bool nesterov : {false, true}) {
      SgdArgs<T> sgd = {};
      sgd.rate = T(0.1);
      sgd.weight_decay = decay;
      expect_cuts_change_nothing<T>(sgd, table.sgd, [](SgdArgs<T>&, T*, T*) {});
      sgd.nesterov = nesterov;
      sgd.momentum = T(0.9);
      sgd.gain = T(0.7);
      expect_cuts_change_nothing<T>(sgd, table.sgd,
                                    [](SgdArgs<T>& args, T* first, T*) { args.buffer = first; });
    }
  }
}

TEST_P(OptimizerKernelsTest, ACutChangesNoBit) {
  for_floats([&]<class T>(T) { expect_cuts_change_nothing<T>(); });
}

template <class T>
void expect_sum_of_squares(index_t n) {
  SCOPED_TRACE(str_cat("n ", n));
  Guarded<T> x(random_values<T>(n, 3, -9, 9), n % 5);
  long double want = 0;
  for (const T value : x.values()) want += static_cast<long double>(value) * value;
  const double got = kernels::table<T>().sum_of_squares(n, x.data());
  EXPECT_NEAR(got, static_cast<double>(want), 1e-14 * static_cast<double>(want));
}

TEST_P(OptimizerKernelsTest, SumOfSquares) {
  for (const index_t n : kSizes) {
    for_floats([&]<class T>(T) { expect_sum_of_squares<T>(n); });
  }
  expect_sum_of_squares<float>(70000);
}

}  // namespace
}  // namespace tessera::test
