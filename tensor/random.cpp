// Compiled with -ffp-contract=off: fused multiply-adds in only some builds would change bits.
#include "tessera/tensor/random.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>
#include <utility>

#include "tessera/tensor/error.h"
#include "tessera/tensor/kernels/parallel.h"

namespace tessera {

PhiloxBlock philox(PhiloxBlock counter, std::array<std::uint32_t, 2> key) {
  constexpr std::uint64_t kMultiplier0 = 0xD2511F53;
  constexpr std::uint64_t kMultiplier1 = 0xCD9E8D57;
  constexpr std::uint32_t kWeyl0 = 0x9E3779B9;  // the golden ratio
  constexpr std::uint32_t kWeyl1 = 0xBB67AE85;  // sqrt(3) - 1
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t p0 = kMultiplier0 * counter[0];
    const std::uint64_t p1 = kMultiplier1 * counter[2];
    counter = {
        static_cast<std::uint32_t>(p1 >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(p1),
        static_cast<std::uint32_t>(p0 >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(p0)};
    key = {key[0] + kWeyl0, key[1] + kWeyl1};
  }
  return counter;
}

namespace {

constexpr std::uint32_t low_word(std::uint64_t value) {
  return static_cast<std::uint32_t>(value);
}
constexpr std::uint32_t high_word(std::uint64_t value) {
  return static_cast<std::uint32_t>(value >> 32);
}
constexpr std::uint64_t join(std::uint32_t low, std::uint32_t high) {
  return low | std::uint64_t{high} << 32;
}

}  // namespace

PhiloxBlock Rng::block(std::uint64_t index) const {
  return philox(
      {low_word(index), high_word(index), low_word(state_.stream), high_word(state_.stream)},
      {low_word(state_.seed), high_word(state_.seed)});
}

std::uint32_t Rng::next_u32() {
  const std::uint64_t n = state_.position++;
  return block(n / 4)[n % 4];
}

std::uint64_t Rng::next_u64() {
  const std::uint32_t low = next_u32();
  return join(low, next_u32());
}

std::uint64_t Rng::take_blocks(index_t count) {
  const std::uint64_t first = (state_.position + 3) / 4;
  state_.position = (first + static_cast<std::uint64_t>(count)) * 4;
  return first;
}

Rng& default_rng() {
  thread_local Rng rng;
  return rng;
}

void manual_seed(std::uint64_t seed) {
  default_rng() = Rng(seed);
}

namespace {

constexpr index_t kPhiloxCost = 40;  // elementary operations

/// Fills a new tensor N elements at a time with `body(block)`, a std::array<T, N>.
template <class T, std::size_t N, class Body>
Tensor fill_blocks(const Shape& shape, Rng& rng, index_t cost, const Body& body) {
  Tensor result = Tensor::empty(shape, dtype_of<T>);
  T* out = result.mutable_data<T>();
  constexpr auto kPerBlock = static_cast<index_t>(N);
  const index_t count = result.count();
  const index_t blocks = count / kPerBlock + (count % kPerBlock != 0);
  const std::uint64_t first = rng.take_blocks(blocks);
  const Rng source = rng;
  kernels::parallel_for(blocks, kPhiloxCost + cost, [&](index_t begin, index_t end) {
    for (index_t b = begin; b < end; ++b) {
      const std::array<T, N> values = body(source.block(first + static_cast<std::uint64_t>(b)));
      const index_t n = std::min(kPerBlock, count - b * kPerBlock);
      std::copy_n(values.begin(), n, out + b * kPerBlock);
    }
  });
  return result;
}

/// A number in [0, 1), from the high 24 bits.
double unit(std::uint32_t word) {
  return (word >> 8) * 0x1p-24;
}

/// A number in [0, 1), from the high 53 bits.
double unit(std::uint32_t low, std::uint32_t high) {
  return static_cast<double>(join(low, high) >> 11) * 0x1p-53;
}

/// scale * u + low, kept below `high`, to which it may round.
template <class T>
struct Affine {
  Affine(double low_bound, double high_bound)
      : low(low_bound), scale(high_bound - low_bound), largest(static_cast<T>(high_bound)) {
    if (static_cast<double>(largest) >= high_bound) {
      largest = std::nextafter(largest, -std::numeric_limits<T>::infinity());
    }
  }
  T operator()(double u) const { return std::min(static_cast<T>(low + scale * u), largest); }

  double low, scale;
  T largest;
};

Tensor uniform_of(const char* op, const Shape& shape, double low, double high, DType dtype,
                  Rng& rng) {
  require(is_floating(dtype), op, "dtype must be floating, got ", dtype);
  require(low < high && std::isfinite(high - low), op,
          "low must be below high by a finite distance, got ", low, " and ", high);
  return visit_floating(dtype, [&](auto kind) {
    using T = decltype(kind);
    require(std::isfinite(static_cast<T>(low)) && std::isfinite(static_cast<T>(high)), op,
            "low and high must be finite in ", dtype, ", got ", low, " and ", high);
    const Affine<T> to_range(low, high);
    if constexpr (std::is_same_v<T, float>) {
      return fill_blocks<T, 4>(shape, rng, 16, [=](const PhiloxBlock& w) {
        return std::array{to_range(unit(w[0])), to_range(unit(w[1])), to_range(unit(w[2])),
                          to_range(unit(w[3]))};
      });
    } else {
      return fill_blocks<T, 2>(shape, rng, 8, [=](const PhiloxBlock& w) {
        return std::array{to_range(unit(w[0], w[1])), to_range(unit(w[2], w[3]))};
      });
    }
  });
}

/// log(x) for normal x > 0, to about 1e-16: x = m 2^e with m in [sqrt(1/2), sqrt(2)), and
/// log m = 2 artanh(s) with s = (m - 1) / (m + 1), |s| < 0.172, by its series up to s^21.
double portable_log(double x) {
  constexpr double kLog2 = 0.693147180559945309417;
  constexpr double kSqrtHalf = 0.707106781186547524401;
  int exponent = 0;
  double m = std::frexp(x, &exponent);  // exact
  if (m < kSqrtHalf) {
    m *= 2;
    --exponent;
  }
  const double s = (m - 1) / (m + 1);
  const double s2 = s * s;
  double sum = 0;
  for (int n = 21; n >= 1; n -= 2) sum = sum * s2 + 1.0 / n;
  return exponent * kLog2 + 2 * s * sum;
}

/// (-1)^k / (2k + first)! for k = 0, 1, ..., 8: the Taylor coefficients of cos and sin.
constexpr std::array<double, 9> taylor(int first) {
  std::array<double, 9> result{};
  double factorial = 1;
  int n = first;
  for (double& c : result) {
    c = 1 / factorial;
    factorial *= -(n + 1.0) * (n + 2.0);
    n += 2;
  }
  return result;
}

double polynomial(const std::array<double, 9>& coefficients, double x) {
  double sum = 0;
  for (std::size_t i = coefficients.size(); i-- > 0;) sum = sum * x + coefficients[i];
  return sum;
}

/// {cos, sin} of 2 pi u for u in [0, 1), to about 1e-16: by their Taylor series on the eighth of a
/// turn on both sides of the nearest quarter.
std::pair<double, double> portable_cos_sin(double u) {
  constexpr double kHalfPi = 1.57079632679489661923;
  constexpr std::array<double, 9> kCos = taylor(0);
  constexpr std::array<double, 9> kSin = taylor(1);
  const int quarter = static_cast<int>(4 * u + 0.5);
  const double x = (4 * u - quarter) * kHalfPi;
  const double c = polynomial(kCos, x * x);
  const double s = polynomial(kSin, x * x) * x;
  switch (quarter % 4) {
    case 0:
      return {c, s};
    case 1:
      return {-s, c};
    case 2:
      return {-c, -s};
    default:
      return {s, -c};
  }
}

template <class T>
Tensor normals(const Shape& shape, Rng& rng) {
  return fill_blocks<T, 2>(shape, rng, 100, [](const PhiloxBlock& w) {
    const double u = unit(w[0], w[1]) + 0x1p-53;  // in (0, 1]
    const double radius = std::sqrt(-2 * portable_log(u));
    const auto [c, s] = portable_cos_sin(unit(w[2], w[3]));
    return std::array{static_cast<T>(radius * c), static_cast<T>(radius * s)};
  });
}

Tensor normal_of(const char* op, const Shape& shape, DType dtype, Rng& rng) {
  require(is_floating(dtype), op, "dtype must be floating, got ", dtype);
  return visit_floating(dtype, [&](auto kind) { return normals<decltype(kind)>(shape, rng); });
}

/// floor(range * bits / 2^64), the product in halves.
std::uint64_t scaled(std::uint64_t range, std::uint64_t bits) {
  const std::uint64_t low = std::uint64_t{low_word(range)} * low_word(bits);
  const std::uint64_t middle_a = std::uint64_t{high_word(range)} * low_word(bits);
  const std::uint64_t middle_b = std::uint64_t{low_word(range)} * high_word(bits);
  const std::uint64_t high = std::uint64_t{high_word(range)} * high_word(bits);
  const std::uint64_t carry =
      std::uint64_t{high_word(low)} + low_word(middle_a) + low_word(middle_b);
  return high + high_word(middle_a) + high_word(middle_b) + high_word(carry);
}

}  // namespace

Tensor rand(const Shape& shape, DType dtype, Rng& rng) {
  return uniform_of("rand", shape, 0, 1, dtype, rng);
}

Tensor uniform(double low, double high, const Shape& shape, DType dtype, Rng& rng) {
  return uniform_of("uniform", shape, low, high, dtype, rng);
}

Tensor randn(const Shape& shape, DType dtype, Rng& rng) {
  return normal_of("randn", shape, dtype, rng);
}

Tensor rand_like(const Tensor& x, std::optional<DType> dtype, Rng& rng) {
  require(x.defined(), "rand_like", "x must be defined, got an undefined tensor");
  return uniform_of("rand_like", x.shape(), 0, 1, dtype.value_or(x.dtype()), rng);
}

Tensor randn_like(const Tensor& x, std::optional<DType> dtype, Rng& rng) {
  require(x.defined(), "randn_like", "x must be defined, got an undefined tensor");
  return normal_of("randn_like", x.shape(), dtype.value_or(x.dtype()), rng);
}

Tensor randint(index_t low, index_t high, const Shape& shape, Rng& rng) {
  require(low < high, "randint", "low must be below high, got ", low, " and ", high);
  // Unsigned, because the width and the intermediate sum may exceed int64.
  const auto base = static_cast<std::uint64_t>(low);
  const std::uint64_t range = static_cast<std::uint64_t>(high) - base;
  const auto value = [=](std::uint32_t a, std::uint32_t b) {
    return static_cast<index_t>(base + scaled(range, join(a, b)));
  };
  return fill_blocks<index_t, 2>(shape, rng, 16, [=](const PhiloxBlock& w) {
    return std::array{value(w[0], w[1]), value(w[2], w[3])};
  });
}

Tensor bernoulli(double p, const Shape& shape, Rng& rng) {
  require(p >= 0 && p <= 1, "bernoulli", "p must be in [0, 1], got ", p);
  const auto threshold = static_cast<std::uint64_t>(p * 0x1p32 + 0.5);
  return fill_blocks<bool, 4>(shape, rng, 4, [=](const PhiloxBlock& w) {
    return std::array{w[0] < threshold, w[1] < threshold, w[2] < threshold, w[3] < threshold};
  });
}

Tensor permutation(index_t count, Rng& rng) {
  require(count >= 0, "permutation", "count must be at least 0, got ", count);
  Tensor result = Tensor::empty({count}, kInt64);
  index_t* out = result.mutable_data<index_t>();
  std::iota(out, out + count, index_t{0});
  for (index_t i = count - 1; i > 0; --i) {
    const std::uint64_t j = scaled(static_cast<std::uint64_t>(i) + 1, rng.next_u64());
    std::swap(out[i], out[j]);
  }
  return result;
}

}  // namespace tessera
