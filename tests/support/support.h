// Shared by the tests of kernels and ops: instruction sets, guarded buffers, random values, and
// comparisons whose failures name the worst element and the values to run the case again.
#pragma once

#include <gtest/gtest.h>
#include <sanitizer/asan_interface.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <random>
#include <string>
#include <type_traits>
#include <vector>

#include "tessera/tensor/kernels/dispatch.h"
#include "tessera/tensor/kernels/parallel.h"
#include "tessera/tensor/kernels/table.h"

namespace tessera::test {

/// Runs a suite once per instruction set of this machine:
///
///     using ExpTest = IsaTest;
///     INSTANTIATE_TEST_SUITE_P(Isa, ExpTest, each_isa(), isa_name);
///     TEST_P(ExpTest, OfZeroIsOne) { ... table<float>() is the set's table here ... }
class IsaTest : public ::testing::TestWithParam<std::string> {
 protected:
  void SetUp() override { set_isa(GetParam()); }
  void TearDown() override { set_isa(before_); }

 private:
  std::string before_ = current_isa();
};

inline auto each_isa() {
  return ::testing::ValuesIn(available_isas());
}

inline std::string isa_name(const ::testing::TestParamInfo<std::string>& info) {
  return info.param;
}

/// The type an oracle computes in: wider than T.
template <class T>
using Wide = std::conditional_t<std::is_same_v<T, float>, double, long double>;

using kernels::table;

inline std::uint64_t& last_seed() {
  static thread_local std::uint64_t seed = 0;
  return seed;
}

/// The circumstances of a failure.
inline std::string circumstances() {
  return "isa " + current_isa() + ", threads " + std::to_string(thread_count()) + ", last seed " +
         std::to_string(last_seed());
}

/// n values, uniform in [low, high).
template <class T>
std::vector<T> random_values(index_t n, std::uint64_t seed, double low = -1, double high = 1) {
  last_seed() = seed;
  std::mt19937_64 bits(seed);
  std::vector<T> values(static_cast<std::size_t>(n));
  for (T& value : values) {
    value = static_cast<T>(low + (high - low) * std::ldexp(static_cast<double>(bits() >> 11), -53));
  }
  return values;
}

/// n elements between two guards of 0xFF bytes (NaN for a float that is read by mistake), `offset`
/// elements after a 64-byte boundary. With the address sanitizer the guards must not be accessed.
template <class T>
class Guarded {
 public:
  explicit Guarded(index_t n, index_t offset = 0)
      : bytes_(2 * kWall + (static_cast<std::size_t>(n) + kMaxOffset) * sizeof(T), 0xFF), n_(n) {
    auto address = reinterpret_cast<std::uintptr_t>(bytes_.data()) + kWall;
    address = (address + 63) / 64 * 64 + static_cast<std::size_t>(offset) * sizeof(T);
    data_ = reinterpret_cast<T*>(address);
    std::fill_n(data_, n, T{});
    poison();
  }
  Guarded(const std::vector<T>& values, index_t offset = 0)
      : Guarded(static_cast<index_t>(values.size()), offset) {
    std::copy(values.begin(), values.end(), data_);
  }
  ~Guarded() { unpoison(); }
  Guarded(const Guarded&) = delete;
  Guarded& operator=(const Guarded&) = delete;

  T* data() { return data_; }
  const T* data() const { return data_; }
  T& operator[](index_t i) { return data_[i]; }
  std::vector<T> values() const { return std::vector<T>(data_, data_ + n_); }

  /// Whether no guard byte has changed.
  ::testing::AssertionResult intact() {
    unpoison();
    const auto begin =
        static_cast<std::size_t>(reinterpret_cast<unsigned char*>(data_) - bytes_.data());
    const std::size_t end = begin + static_cast<std::size_t>(n_) * sizeof(T);
    auto result = ::testing::AssertionSuccess();
    for (std::size_t i = 0; i < bytes_.size(); ++i) {
      if ((i < begin || i >= end) && bytes_[i] != 0xFF) {
        result = ::testing::AssertionFailure()
                 << "byte " << static_cast<index_t>(i) - static_cast<index_t>(begin)
                 << " of a buffer of " << end - begin << " bytes was written; " << circumstances();
        break;
      }
    }
    poison();
    return result;
  }

 private:
  static constexpr std::size_t kWall = 192;
  static constexpr std::size_t kMaxOffset = 16;

  unsigned char* end_of_data() { return reinterpret_cast<unsigned char*>(data_ + n_); }
  void poison() {
    ASAN_POISON_MEMORY_REGION(bytes_.data(),
                              reinterpret_cast<unsigned char*>(data_) - bytes_.data());
    ASAN_POISON_MEMORY_REGION(end_of_data(), bytes_.data() + bytes_.size() - end_of_data());
  }
  void unpoison() { ASAN_UNPOISON_MEMORY_REGION(bytes_.data(), bytes_.size()); }

  std::vector<unsigned char> bytes_;
  index_t n_;
  T* data_;
};

/// The distance of `got` from `want`, in units of T's last place at `want`. 0 for NaN and NaN, and
/// for two equal infinities; infinite if only one of the two is NaN. A `want` that rounds to
/// infinity is measured against T's largest finite value's unit.
template <class T>
double ulp_error(T got, Wide<T> want) {
  using Limits = std::numeric_limits<T>;
  if (std::isnan(got) || std::isnan(want)) {
    return std::isnan(got) && std::isnan(want) ? 0 : std::numeric_limits<double>::infinity();
  }
  if (static_cast<T>(want) == got) {
    if (std::isinf(got)) return 0;
  } else if (std::isinf(got) || std::isinf(want)) {
    return std::numeric_limits<double>::infinity();
  }
  int exponent = want == 0 ? Limits::min_exponent : std::ilogb(want) + 1;
  exponent = std::clamp(exponent, Limits::min_exponent, Limits::max_exponent);
  const Wide<T> ulp = std::ldexp(Wide<T>{1}, exponent - Limits::digits);
  return static_cast<double>(std::fabs(static_cast<Wide<T>>(got) - want) / ulp);
}

/// Whether each got[i] is within `ulps` of want[i] or within `absolute` of it.
template <class T>
::testing::AssertionResult near(const std::vector<T>& got, const std::vector<Wide<T>>& want,
                                double ulps, double absolute = 0) {
  if (got.size() != want.size()) {
    return ::testing::AssertionFailure() << got.size() << " elements, wanted " << want.size();
  }
  std::size_t worst = 0;
  double worst_error = 0;
  for (std::size_t i = 0; i < got.size(); ++i) {
    const double error = ulp_error(got[i], want[i]);
    if (error <= ulps || std::fabs(static_cast<Wide<T>>(got[i]) - want[i]) <= absolute) continue;
    if (error > worst_error) {
      worst = i;
      worst_error = error;
    }
  }
  if (worst_error == 0) return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure()
         << "worst element " << worst << " of " << got.size() << ": got "
         << ::testing::PrintToString(got[worst]) << ", want "
         << ::testing::PrintToString(want[worst]) << ", " << worst_error << " ulp away, " << ulps
         << " allowed; " << circumstances();
}

/// Whether got and want agree in every bit. Any NaN equals any other.
template <class T>
::testing::AssertionResult same_bits(const std::vector<T>& got, const std::vector<T>& want) {
  if (got.size() != want.size()) {
    return ::testing::AssertionFailure() << got.size() << " elements, wanted " << want.size();
  }
  for (std::size_t i = 0; i < got.size(); ++i) {
    if (std::memcmp(&got[i], &want[i], sizeof(T)) == 0) continue;
    if (got[i] != got[i] && want[i] != want[i]) continue;
    return ::testing::AssertionFailure()
           << "element " << i << " of " << got.size() << ": got "
           << ::testing::PrintToString(got[i]) << ", want the bits of "
           << ::testing::PrintToString(want[i]) << "; " << circumstances();
  }
  return ::testing::AssertionSuccess();
}

}  // namespace tessera::test
