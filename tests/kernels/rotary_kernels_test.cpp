// Rotary positions on every instruction set: separately, and inside the product that makes the
// heads.
#include "tests/support/floats.h"
#include "tests/support/support.h"

namespace tessera::test {
namespace {

using kernels::RotaryArgs;

class RotaryKernelsTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, RotaryKernelsTest, each_isa(), isa_name);

constexpr index_t kPositions = 9;

struct RotaryCase {
  index_t width, rotated;
  bool interleaved, back;
};

std::vector<RotaryCase> cases() {
  std::vector<RotaryCase> all;
  for (const index_t rotated : {0, 2, 4, 6, 10, 16, 30, 32, 34, 64, 66}) {
    for (const index_t rest : {0, 1, 5, 16}) {
      for (const bool interleaved : {false, true}) {
        for (const bool back : {false, true})
          all.push_back({rotated + rest, rotated, interleaved, back});
      }
    }
  }
  return all;
}

std::string name(const RotaryCase& c) {
  return "width " + std::to_string(c.width) + ", rotated " + std::to_string(c.rotated) +
         (c.interleaved ? ", interleaved" : "") + (c.back ? ", back" : "");
}

/// One head by the definition, in a wider type; `angles` are the cosines, then the sines.
template <class T>
std::vector<Wide<T>> naive_head(const RotaryCase& c, const T* x, const T* angles) {
  std::vector<Wide<T>> y(x, x + c.width);
  const index_t pairs = c.rotated / 2;
  for (index_t k = 0; k < pairs; ++k) {
    const index_t i = c.interleaved ? 2 * k : k;
    const index_t j = c.interleaved ? 2 * k + 1 : k + pairs;
    const Wide<T> cosine = angles[k];
    const Wide<T> sine = c.back ? -Wide<T>{angles[pairs + k]} : Wide<T>{angles[pairs + k]};
    y[static_cast<std::size_t>(i)] = x[i] * cosine - x[j] * sine;
    y[static_cast<std::size_t>(j)] = x[j] * cosine + x[i] * sine;
  }
  return y;
}

template <class T>
RotaryArgs<T> args_of(const RotaryCase& c, const T* table) {
  RotaryArgs<T> args = {};
  args.rotation = {.heads = 0,
                   .width = c.width,
                   .rotated = c.rotated,
                   .table = table,
                   .interleaved = c.interleaved};
  args.back = c.back;
  return args;
}

template <class T>
void expect_definition(const RotaryCase& c) {
  constexpr index_t kFirst = 1, kEnd = 6, kHeads = 3, kTokens = 4;
  const index_t x_head = c.width + 2, x_row = kHeads * x_head + 3, y_row = kHeads * c.width;
  const auto x = random_values<T>(kEnd * x_row, 1);
  const auto table = random_values<T>(kPositions * c.rotated, 2);
  const std::vector<index_t> positions = {3, 0, 8, 8, 1, 5};
  RotaryArgs<T> args = args_of(c, table.data());
  args.rotation.heads = kHeads;
  args.rotation.tokens = kTokens;
  args.first_row = kFirst;
  args.rows = kEnd - kFirst;
  for (const bool given : {false, true}) {
    args.rotation.positions = given ? positions.data() : nullptr;
    Guarded<T> source(x, 1), out(kEnd * y_row, 3);
    args.x = {source.data(), kTokens * x_row, x_head, x_row};
    args.y = {out.data(), kTokens * y_row, c.width, y_row};
    kernels::table<T>().rotary(args);
    Guarded<T> same(x, 2);  // in place
    RotaryArgs<T> in_place = args;
    in_place.x = {same.data(), kTokens * x_row, x_head, x_row};
    in_place.y = {same.data(), kTokens * x_row, x_head, x_row};
    kernels::table<T>().rotary(in_place);
    ASSERT_TRUE(out.intact() && same.intact()) << name(c);
    auto untouched = x;
    for (index_t i = kFirst; i < kEnd; ++i) {
      const index_t position = given ? positions[static_cast<std::size_t>(i)] : i % kTokens;
      for (index_t h = 0; h < kHeads; ++h) {
        const T* from = x.data() + i * x_row + h * x_head;
        const auto want = naive_head(c, from, table.data() + position * c.rotated);
        const T* got = out.data() + i * y_row + h * c.width;
        const T* replaced = same.data() + i * x_row + h * x_head;
        const std::vector<T> head(got, got + c.width);
        ASSERT_TRUE(near(head, want, 1, sizeof(T) == 4 ? 1.2e-7 : 2.3e-16)) << name(c);
        ASSERT_TRUE(same_bits(head, {replaced, replaced + c.width})) << name(c);
        std::copy_n(replaced, c.width, untouched.begin() + i * x_row + h * x_head);
      }
    }
    EXPECT_TRUE(same_bits(same.values(), untouched)) << "between the heads; " << name(c);
  }
}

TEST_P(RotaryKernelsTest, IsTheDefinition) {
  for (const RotaryCase& c : cases()) {
    for_floats([&]<class T>(T) { expect_definition<T>(c); });
  }
}

// The bits of a pair depend only on the pair and its angle, not on its position in a vector.
template <class T>
void expect_same_in_any_place(bool interleaved) {
  constexpr index_t kPairs = 37;
  const std::vector<T> numbers = random_values<T>(4, 3);
  const T a = numbers[0], b = numbers[1], angles[] = {numbers[2], numbers[3]};
  const auto rotated = [&](index_t pairs) {
    std::vector<T> x, table;
    for (index_t k = 0; k < 2 * pairs; ++k) {
      x.push_back((interleaved ? k % 2 == 0 : k < pairs) ? a : b);
      table.push_back(angles[k < pairs ? 0 : 1]);
    }
    RotaryArgs<T> args =
        args_of(RotaryCase{2 * pairs, 2 * pairs, interleaved, false}, table.data());
    args.rows = args.rotation.heads = 1;
    args.x = {.data = x.data()};
    args.y = {.data = x.data()};
    kernels::table<T>().rotary(args);
    return x;
  };
  const std::vector<T> one = rotated(1), many = rotated(kPairs);
  for (index_t k = 0; k < 2 * kPairs; ++k) {
    const bool first = interleaved ? k % 2 == 0 : k < kPairs;
    ASSERT_TRUE(same_bits<T>({many[static_cast<std::size_t>(k)]}, {one[first ? 0 : 1]}));
  }
}

TEST_P(RotaryKernelsTest, APairsBitsDependOnlyOnIt) {
  for (const bool interleaved : {false, true}) {
    for_floats([&]<class T>(T) { expect_same_in_any_place<T>(interleaved); });
  }
}

struct Sizes {
  index_t m, n, k, heads;
  RotaryCase head;
};

template <class T>
struct Product : Sizes {
  std::vector<T> a, b, bias;
  explicit Product(const Sizes& sizes)
      : Sizes(sizes),
        a(random_values<T>(m * k, 5)),
        b(random_values<T>(n * k, 6)),
        bias(random_values<T>(n, 7)) {}
};

/// C by gemm, with its heads rotated in the product or after it.
template <class T>
std::vector<T> multiply(const Product<T>& p, const kernels::HeadRotation<T>& rotation, bool fused,
                        bool packed, index_t workers) {
  const auto& table = kernels::table<T>();
  const std::vector<T>&a = p.a, &b = p.b, &bias = p.bias;
  Guarded<T> c(p.m * p.n);
  kernels::GemmArgs<T> args = {.m = p.m,
                               .n = p.n,
                               .k = p.k,
                               .c = c.data(),
                               .c_row = p.n,
                               .a = {a.data(), p.k, 1},
                               .b = {b.data(), 1, p.k},
                               .epilogue = {.bias = bias.data()},
                               .workers = workers};
  std::vector<T> panels(
      static_cast<std::size_t>(p.k * kernels::panel_columns(p.n, false, table.lanes)));
  if (packed) {
    table.pack_b(p.k, p.n, {b.data(), 1, p.k}, panels.data());
    args.packed_b = panels.data();
  }
  if (fused) args.epilogue.rotation = rotation;
  std::vector<T> workspace(static_cast<std::size_t>(table.gemm_workspace(args)));
  args.workspace = workspace.data();
  table.gemm(args);
  if (!fused) {
    const index_t sequence = rotation.tokens * p.n;
    table.rotary({.rotation = rotation,
                  .x = {c.data(), sequence, rotation.width, p.n},
                  .y = {c.data(), sequence, rotation.width, p.n},
                  .rows = p.m});
  }
  EXPECT_TRUE(c.intact());
  return c.values();
}

template <class T>
void expect_fused_bits(const Sizes& sizes) {
  const Product<T> p(sizes);
  const auto table = random_values<T>(kPositions * p.head.rotated, 8);
  kernels::HeadRotation<T> rotation = args_of(p.head, table.data()).rotation;
  rotation.heads = p.heads;
  rotation.tokens = kPositions;
  const auto want = multiply(p, rotation, false, false, 1);
  for (const bool packed : {false, true}) {
    for (const index_t workers : {1, 2, 3, 4, 8}) {
      ASSERT_TRUE(same_bits(multiply(p, rotation, true, packed, workers), want))
          << p.m << " x " << p.k << " x " << p.n << ", " << p.heads << " heads, " << name(p.head)
          << ", packed " << packed << ", workers " << workers;
    }
  }
}

// Heads that end within, at and beyond panels; blocks of rows, chunks of columns, several blocks of
// k.
TEST_P(RotaryKernelsTest, InTheProductHasTheBitsOfAfterIt) {
  const Sizes products[] = {
      {1, 192, 64, 2, {64, 64, false, false}},     {2, 48, 16, 8, {4, 2, true, false}},
      {3, 300, 40, 3, {66, 34, false, false}},     {7, 36, 1, 3, {12, 12, true, false}},
      {37, 75, 30, 5, {5, 4, false, false}},       {150, 192, 70, 4, {32, 32, true, false}},
      {300, 288, 33, 4, {48, 32, false, false}},   {64, 192, 2050, 2, {64, 64, false, false}},
      {20, 600, 1030, 3, {200, 100, true, false}}, {5, 576, 600, 8, {64, 64, false, false}},
      {5, 3, 0, 1, {2, 2, false, false}}};
  for (const Sizes& p : products) {
    for_floats([&]<class T>(T) { expect_fused_bits<T>(p); });
  }
}

}  // namespace
}  // namespace tessera::test
