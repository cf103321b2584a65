// Random tensors from a counter-based generator.
//
//   manual_seed(7);
//   Tensor w = randn({512, 512});                  // from the thread's default generator
//   Rng rng(7);
//   Tensor u = uniform(-1, 1, {8}, kFloat32, rng);  // from the generator rng
//
// The numbers depend only on the arguments and on the generator's state at the call, not on
// threads, the compiler or the C library. So the functions that are needed (log, sine, cosine) are
// computed here by +, -, *, / and sqrt, which IEEE 754 rounds the same on every machine.
//
// **Errors** of all functions that take a shape or a size: as Tensor::empty.
#pragma once

#include <array>
#include <cstdint>
#include <optional>

#include "tessera/tensor/tensor.h"

namespace tessera {

/// Four 32-bit words: a block, the output of philox().
using PhiloxBlock = std::array<std::uint32_t, 4>;

/// The Philox4x32-10 function: a bijection of `counter` for each `key`. Its outputs for consecutive
/// counters pass BigCrush, a set of statistical tests.
/// **Source**: Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", 2011, section 3.3.
PhiloxBlock philox(PhiloxBlock counter, std::array<std::uint32_t, 2> key);

/// A generator of 32-bit words. Its state is a seed, a stream and a position n. The next word is
/// word n % 4 of block n / 4, which is philox() with the seed as the key, n / 4 as the lower half
/// of the counter and the stream as the upper half. Generators with a different seed or stream give
/// unrelated words.
/// **Source**: as philox.
class Rng {
 public:
  /// The complete state, for checkpoints.
  struct State {
    std::uint64_t seed = 0;
    std::uint64_t stream = 0;
    std::uint64_t position = 0;  // words taken so far
    bool operator==(const State&) const = default;
  };

  explicit Rng(std::uint64_t seed = 0, std::uint64_t stream = 0) : state_{seed, stream, 0} {}

  /// The next word.
  std::uint32_t next_u32();
  /// Two words, the first one as the low half.
  std::uint64_t next_u64();
  /// Block `index` of this seed and stream, at any position of the generator.
  PhiloxBlock block(std::uint64_t index) const;
  /// Moves the position up to a multiple of 4, and then past `count` whole blocks.
  /// Returns the index of the first of these blocks.
  std::uint64_t take_blocks(index_t count);

  /// The state, to save.
  const State& state() const { return state_; }
  /// Continues from a saved state.
  void set_state(const State& state) { state_ = state; }

 private:
  State state_;
};

/// The generator of the calling thread, which the functions below use by default. This generator
/// starts as Rng(0) in every thread, so that a program gives the same numbers each time it runs.
Rng& default_rng();

/// Restarts the calling thread's default generator from `seed`.
void manual_seed(std::uint64_t seed);

/// Uniform in [0, 1): a whole multiple of 2^-24 (float32) or 2^-53 (float64).
/// **Shapes**: result `shape`. **Errors**: a dtype that is not floating.
/// **Source**: torch.rand.
Tensor rand(const Shape& shape, DType dtype = kFloat32, Rng& rng = default_rng());

/// Uniform in [low, high): low + (high - low) u, where u is uniform in [0, 1).
/// **Shapes**: result `shape`.
/// **Errors**: low that is not below high; an infinite high - low; bounds that are infinite in
/// `dtype`; a dtype that is not floating.
/// **Source**: torch.Tensor.uniform_, numpy.random.uniform.
Tensor uniform(double low, double high, const Shape& shape, DType dtype = kFloat32,
               Rng& rng = default_rng());

/// Normal with mean 0 and variance 1. A float32 draw is the float64 draw, rounded.
/// **Shapes**: result `shape`.
/// **Errors**: a dtype that is not floating.
/// **Source**: Box and Muller, "A note on the generation of random normal deviates", 1958, with 53
/// random bits for the radius (which is at most 8.57) and 53 for the angle.
Tensor randn(const Shape& shape, DType dtype = kFloat32, Rng& rng = default_rng());

/// rand and randn with the shape of x and, by default, its dtype. **Shapes**: any -> the same.
/// **Errors**: an undefined x; a dtype that is not floating.
/// **Source**: torch.rand_like, torch.randn_like.
Tensor rand_like(const Tensor& x, std::optional<DType> dtype = {}, Rng& rng = default_rng());
Tensor randn_like(const Tensor& x, std::optional<DType> dtype = {}, Rng& rng = default_rng());

/// int64 numbers, uniform in [low, high). The probability of each number differs by less than 2^-64
/// from 1 / (high - low).
/// **Shapes**: result `shape`. **Errors**: low that is not below high.
/// **Source**: torch.randint; Lemire, "Fast random integer generation in an interval", 2019,
/// without its rejection of some random numbers.
Tensor randint(index_t low, index_t high, const Shape& shape, Rng& rng = default_rng());

/// True with probability p (to within 2^-33), independently.
/// **Shapes**: result `shape`, bool. **Errors**: p outside [0, 1].
/// **Source**: torch.bernoulli.
Tensor bernoulli(double p, const Shape& shape, Rng& rng = default_rng());

/// 0, 1, ..., count - 1 in random order. **Shapes**: (count), int64. **Errors**: a negative count.
/// **Source**: Durstenfeld, "Algorithm 235: random permutation", 1964.
Tensor permutation(index_t count, Rng& rng = default_rng());

/// While in scope, default_rng() has the state of `rng`; afterwards it has its previous state.
class RngScope {
 public:
  explicit RngScope(const Rng& rng) : before_(default_rng().state()) {
    default_rng().set_state(rng.state());
  }
  ~RngScope() { default_rng().set_state(before_); }
  RngScope(const RngScope&) = delete;
  RngScope& operator=(const RngScope&) = delete;

 private:
  Rng::State before_;
};

}  // namespace tessera
