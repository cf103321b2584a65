// Elementwise functions and their gradients have the same bits for any number of threads, any
// layout and on AVX2 and AVX-512: one recorded digest per function, as in bits_test.cpp.

#include <iostream>

#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/ops/ops.h"
#include "tests/support/digest.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using Function = std::function<Tensor(const Tensor&)>;

struct Subject {
  const char* name;
  Function f;
  double low, high;
  WrittenDigests digests;
};

/// Names, functions, their ranges, and their digests.
const std::vector<Subject>& subjects() {
  using T = const Tensor&;
  // clang-format off
  static const std::vector<Subject> all = {
      {"sin", [](T x) { return sin(x); }, -300, 300,
       {{"2c75208711fadf7e", "44f4b110909b6f41"}, {"6d5c4c52eae53dad", "5efe48da6eeba583"}}},
      {"cos", [](T x) { return cos(x); }, -300, 300,
       {{"0db36be0e4d945d8", "0b9c5d869a2c4e82"}, {"22ccce06bf86990f", "6fe5fe91c80713ca"}}},
      {"sin of far angles", [](T x) { return sin(x); }, -1e9, 1e9,
       {{"6ce13ab55a3f6849", "39cafb31d723c4b1"}, {"0449c86b6f69721f", "d6197bbed556ec9b"}}},
      {"expm1", [](T x) { return expm1(x); }, -9, 9,
       {{"b2857fcc825dec1e", "761d4fde020b89fe"}, {"67832aa125d4164a", "d02c11f961d98b68"}}},
      {"log1p", [](T x) { return log1p(x); }, -0.9, 9,
       {{"ce6876bd62ebd122", "93c44e07a1eeae6c"}, {"a5acef1df1a75fb0", "4bbe5e77dba66d0c"}}},
      {"rsqrt", [](T x) { return rsqrt(x); }, 0.01, 9,
       {{"5701f54f407cdacc", "c2cc118ffb14a767"}, {"5701f54f407cdacc", "c2cc118ffb14a767"}}},
      {"floor", [](T x) { return floor(x); }, -9, 9,
       {{"b53b744bcdbac945", "f7811d61fd8d4caf"}, {"b53b744bcdbac945", "f7811d61fd8d4caf"}}},
      {"ceil", [](T x) { return ceil(x); }, -9, 9,
       {{"22b701b99d6567b5", "adfc97fdfe506ff5"}, {"22b701b99d6567b5", "adfc97fdfe506ff5"}}},
      {"round", [](T x) { return round(x); }, -9, 9,
       {{"47c7c70f2ec6ea62", "a80472751e34c117"}, {"47c7c70f2ec6ea62", "a80472751e34c117"}}},
      {"silu", [](T x) { return silu(x); }, -9, 9,
       {{"cbadd115bda6d0e2", "7a643c433ac28c4e"}, {"60af91318f338ad5", "89795f2dd3e21e33"}}},
      {"softplus", [](T x) { return softplus(x, 2, 9); }, -9, 9,
       {{"f3b0badcf179ac68", "b7c120f09075e3b8"}, {"cbbda315b596dd7d", "cc6086b4fac05f6a"}}},
      {"leaky_relu", [](T x) { return leaky_relu(x, 0.1); }, -9, 9,
       {{"8d03c6ef6ecb9b02", "c48047a2227576ed"}, {"8d03c6ef6ecb9b02", "c48047a2227576ed"}}},
      {"clamp", [](T x) { return clamp(x, -1, 2.5); }, -9, 9,
       {{"8a1e9c692b8b6a93", "601374ffffec248b"}, {"8a1e9c692b8b6a93", "601374ffffec248b"}}},
      {"pow", [](T x) { return pow(x, x); }, 0.1, 5,
       {{"dee0c5869b28498d", "e84e694a3fed93bf"}, {"715f3af499acf3eb", "4532eee0497bedc4"}}},
      {"power of a number", [](T x) { return pow(1.3, x); }, -9, 9,
       {{"b9d83f2ff72dd785", "73cebb9ff708d93a"}, {"b9d83f2ff72dd785", "603bf5027526f318"}}},
  };
  // clang-format on
  return all;
}

using ElementwiseBitsTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, ElementwiseBitsTest, each_isa(), isa_name);

/// The digest of f(x) and of the gradient of their sum with changing weights.
std::string digest_of(const Function& f, const Tensor& x, const Tensor& weights) {
  const Tensor leaf = x.detach().set_requires_grad();
  Tape tape;
  const Tensor y = f(leaf);
  tape.backward(sum(y * weights));
  return Digest().add(y).add(leaf.grad()).text();
}

TEST_P(ElementwiseBitsTest, OneDigestForEveryWay) {
  for (const Subject& subject : subjects()) {
    for (const DType dtype : {kFloat32, kFloat64}) {
      SCOPED_TRACE(str_cat(subject.name, ", ", dtype));
      const Shape shape = {61, 533};
      const Tensor values = random_tensor(shape, dtype, 71, subject.low, subject.high);
      const Tensor weights = random_tensor(shape, dtype, 72);
      const std::string& want = subject.digests.of(dtype);
      for (const Layout& layout : layouts_of(values)) {
        for (const int threads : {1, 2, 3, 8}) {
          set_thread_count(threads);
          EXPECT_EQ(digest_of(subject.f, layout.tensor, weights), want)
              << layout.name << ", " << threads << " threads";
        }
      }
      set_thread_count(1);
      std::cout << digest_of(subject.f, values, weights) << "  " << dtype << "  " << subject.name
                << "\n";
      set_thread_count(0);
    }
  }
}

}  // namespace
}  // namespace tessera::test
