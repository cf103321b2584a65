#include "tessera/tensor/ops/matmul.h"

#include "tessera/tensor/error.h"
#include "tests/support/oracle_ops.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

class EinsumTest : public IsaTest {};
INSTANTIATE_TEST_SUITE_P(Isa, EinsumTest, each_isa(), isa_name);

TEST_P(EinsumTest, OfOneOperand) {
  const struct {
    const char* spec;
    std::string input, output;  // the spec without abbreviations
    Shape shape;
  } cases[] = {
      {"ij->ji", "ij", "ji", {3, 4}},
      {"ij", "ij", "ij", {3, 4}},
      {"ba", "ba", "ab", {3, 4}},
      {"bA", "bA", "Ab", {3, 4}},
      {"ij->", "ij", "", {3, 4}},
      {"ij->i", "ij", "i", {3, 4}},
      {"ij -> j", "ij", "j", {3, 4}},
      {"ii", "ii", "", {5, 5}},
      {"ii->i", "ii", "i", {5, 5}},
      {"iij->ji", "iij", "ji", {3, 3, 4}},
      {"iji->j", "iji", "j", {3, 4, 3}},
      {"iiji->ij", "iiji", "ij", {3, 3, 2, 3}},
      {"ijij->ij", "ijij", "ij", {2, 3, 2, 3}},
      {"ijji", "ijji", "", {2, 3, 3, 2}},
      {"->", "", "", {}},
      {"", "", "", {}},
      {"...", "ab", "ab", {3, 4}},
      {"...->...", "", "", {}},
      {"...j->j...", "abj", "jab", {2, 3, 4}},
      {"i...j", "iabj", "abij", {2, 3, 4, 5}},
      {"...ii->...i", "aii", "ai", {2, 3, 3}},
      {"i...->i", "iab", "i", {2, 3, 4}},
      {"i...->...", "iab", "ab", {2, 3, 4}},
      {"ij->ji", "ij", "ji", {0, 4}},
      {"ij->j", "ij", "j", {0, 4}},
      {"abcdefgh->hgfedcba", "abcdefgh", "hgfedcba", {2, 1, 2, 1, 2, 3, 1, 2}},
  };
  for (const auto& c : cases) {
    for (DType dtype : {kFloat32, kFloat64, kInt64}) {
      for (const Layout& x : random_layouts(c.shape, dtype, 1)) {
        SCOPED_TRACE(str_cat('"', c.spec, "\" of ", dtype, ", ", x.name));
        const Tensor got = einsum(c.spec, {x.tensor});
        EXPECT_EQ(got.dtype(), dtype);
        EXPECT_TRUE(got.is_contiguous());
        EXPECT_TRUE(near(got, naive_einsum({c.input}, c.output, {array(x.tensor)}),
                         10 * tolerance(dtype), 10 * tolerance(dtype)));
        EXPECT_TRUE(same_bits(got, einsum(c.spec, {x.tensor.clone()})));
      }
    }
  }
}

struct PairCase {
  const char* spec;
  std::string a, b, output;  // the spec without abbreviations
  Shape a_shape, b_shape;
};

const Shape kEight = {2, 1, 2, 1, 2, 3, 1, 5};
const PairCase kPairs[] = {
    {"ij,jk->ik", "ij", "jk", "ik", {3, 4}, {4, 5}},
    {"ij,jk", "ij", "jk", "ik", {3, 4}, {4, 5}},
    {"ij,jk->ki", "ij", "jk", "ki", {3, 4}, {4, 5}},
    {"ij,kj->ik", "ij", "kj", "ik", {3, 4}, {5, 4}},
    {"i,i", "i", "i", "", {7}, {7}},
    {"i,j", "i", "j", "ij", {3}, {4}},
    {"i,j->ji", "i", "j", "ji", {3}, {4}},
    {"i,i->i", "i", "i", "i", {7}, {7}},
    {"ij,ij->ij", "ij", "ij", "ij", {3, 4}, {3, 4}},
    {"ij,ji->", "ij", "ji", "", {3, 4}, {4, 3}},
    {",ij->ij", "", "ij", "ij", {}, {3, 4}},
    {"ij,->j", "ij", "", "j", {3, 4}, {}},
    {",", "", "", "", {}, {}},
    {"bij,bjk->bik", "bij", "bjk", "bik", {2, 3, 4}, {2, 4, 5}},
    {"bi,bi->b", "bi", "bi", "b", {3, 6}, {3, 6}},
    {"bi,bij->bj", "bi", "bij", "bj", {3, 6}, {3, 6, 2}},
    {"bqhd,bkhd->bhqk", "bqhd", "bkhd", "bhqk", {2, 3, 2, 5}, {2, 4, 2, 5}},
    {"bhqk,bkhd->bqhd", "bhqk", "bkhd", "bqhd", {2, 2, 3, 4}, {2, 4, 2, 5}},
    {"abc,cad->dba", "abc", "cad", "dba", {2, 3, 4}, {4, 2, 5}},
    {"ijk,jkl->il", "ijk", "jkl", "il", {2, 3, 4}, {3, 4, 5}},
    {"ijk,kjl->il", "ijk", "kjl", "il", {2, 3, 4}, {4, 3, 5}},
    {"ij,kl->ik", "ij", "kl", "ik", {3, 4}, {2, 5}},
    {"ij,kl->", "ij", "kl", "", {3, 4}, {2, 5}},
    {"iij,jkk->ik", "iij", "jkk", "ik", {3, 3, 4}, {4, 2, 2}},
    {"...ij,...jk->...ik", "xyij", "xyjk", "xyik", {2, 3, 4, 5}, {2, 3, 5, 2}},
    {"...ij,...jk", "xyij", "yjk", "xyik", {2, 3, 4, 5}, {3, 5, 2}},
    {"...ij,...jk->...ik", "xyij", "xyjk", "xyik", {2, 1, 4, 5}, {1, 3, 5, 2}},
    {"...i,oi->...o", "xyi", "oi", "xyo", {2, 3, 4}, {5, 4}},
    {"...i,...i->i...", "xyi", "yi", "ixy", {2, 3, 4}, {3, 4}},
    {"...i,...i->i", "xyi", "yi", "i", {2, 1, 4}, {3, 4}},
    {"ij,jk->ik", "ij", "jk", "ik", {3, 1}, {4, 5}},
    {"bij,bjk->bik", "bij", "bjk", "bik", {1, 3, 4}, {2, 4, 5}},
    {"ij,jk->ik", "ij", "jk", "ik", {3, 0}, {0, 5}},
    {"ij,jk->ik", "ij", "jk", "ik", {0, 4}, {4, 5}},
    {"ij,jk->ijk", "ij", "jk", "ijk", {3, 0}, {1, 5}},
    {"abcdefgh,abcdefgh->abcdefgh", "abcdefgh", "abcdefgh", "abcdefgh", kEight, kEight},
    {"abcdefgi,abcdefgi->abcdefg", "abcdefgi", "abcdefgi", "abcdefg", kEight, kEight},
};

TEST_P(EinsumTest, OfTwoOperands) {
  for (const PairCase& c : kPairs) {
    for (DType dtype : {kFloat32, kFloat64, kInt64}) {
      for (const Layout& a : random_layouts(c.a_shape, dtype, 2)) {
        for (const Layout& b : random_layouts(c.b_shape, dtype, 3)) {
          SCOPED_TRACE(str_cat('"', c.spec, "\" of ", c.a_shape, " and ", c.b_shape, ", ", dtype,
                               ", ", a.name, " and ", b.name));
          const Tensor got = einsum(c.spec, {a.tensor, b.tensor});
          EXPECT_EQ(got.dtype(), dtype);
          EXPECT_TRUE(got.is_contiguous());
          ASSERT_TRUE(near(got,
                           naive_einsum({c.a, c.b}, c.output, {array(a.tensor), array(b.tensor)}),
                           20 * tolerance(dtype), 20 * tolerance(dtype)));
          ASSERT_TRUE(same_bits(got, einsum(c.spec, {a.tensor.clone(), b.tensor.clone()})));
        }
      }
    }
  }
}

TEST(Einsum, PromotesMixedDtypes) {
  EXPECT_TRUE(same_bits(einsum("i,i", {tensor({1, 2}), tensor({0.5, 0.25})}), tensor(1.0)));
  EXPECT_TRUE(same_bits(einsum("i,j", {tensor({1, 2}), tensor({0.5}, kFloat64)}),
                        tensor({{0.5}, {1.0}}, kFloat64)));
}

// A sum of products is a number: two true products make 2, for any spec.
TEST(Einsum, OfBoolsCounts) {
  const Tensor x = tensor({true, true, false});
  const Tensor square = tensor({{true, false}, {true, true}});
  EXPECT_TRUE(same_bits(einsum("i,i", {x, x}), tensor(2)));
  EXPECT_TRUE(same_bits(einsum("i,j", {x, x}), tensor({{1, 1, 0}, {1, 1, 0}, {0, 0, 0}})));
  EXPECT_TRUE(same_bits(einsum("i,i->i", {x, x}), tensor({1, 1, 0})));
  EXPECT_TRUE(same_bits(einsum("i->", {x}), tensor(2)));
  EXPECT_TRUE(same_bits(einsum("ii", {square}), tensor(2)));
  EXPECT_TRUE(same_bits(einsum("ij->ji", {square}), tensor({{1, 1}, {0, 1}})));
  EXPECT_TRUE(same_bits(einsum("i,i", {x, tensor({0.5, 1.5, 2.5})}), tensor(2.0)));
  EXPECT_TRUE(same_bits(einsum("i,j->ji", {tensor({2}), x}), tensor({{2}, {2}, {0}})));
}

TEST(Einsum, NamesWhatIsWrong) {
  const Tensor a = zeros({2, 3});
  const auto error = [&](const std::string& spec, const std::vector<Tensor>& operands,
                         const std::vector<std::string>& parts) {
    return throws("einsum", parts, [&] { einsum(spec, operands); });
  };
  EXPECT_TRUE(error("ij,jk->ik", {a, a}, {"'j'", "3", "2", "\"ij,jk->ik\""}));
  EXPECT_TRUE(error("ii", {a}, {"'i'", "2", "3"}));
  EXPECT_TRUE(error("ij->ik", {a}, {"'k'", "must appear in an operand"}));
  EXPECT_TRUE(error("ij->ii", {a}, {"'i'", "twice"}));
  EXPECT_TRUE(error("ijk", {a}, {"\"ijk\"", "(2, 3)"}));
  EXPECT_TRUE(error("i", {a}, {"\"i\"", "(2, 3)"}));
  EXPECT_TRUE(error("ijk...", {a}, {"\"ijk...\"", "(2, 3)"}));
  EXPECT_TRUE(error("i1", {a}, {"letters, got '1'"}));
  EXPECT_TRUE(error("i..", {a}, {"letters, got '.'"}));
  EXPECT_TRUE(error("......", {a}, {"letters, got '.'"}));
  EXPECT_TRUE(error("ij-ji", {a}, {"letters, got '-'"}));
  EXPECT_TRUE(error("ij->i->j", {a}, {"letters, got '-'"}));
  EXPECT_TRUE(error("ij->i,j", {a}, {"letters, got ','"}));
  EXPECT_TRUE(error("ij", {a, a}, {"must have 1 operands, got 2"}));
  EXPECT_TRUE(error("ij,jk", {a}, {"must have 2 operands, got 1"}));
  EXPECT_TRUE(error("ij", {}, {"got 0"}));
  EXPECT_TRUE(error("ij,jk,kl", {a, a, a}, {"1 or 2"}));
  EXPECT_TRUE(error("ij", {Tensor()}, {"undefined"}));
  EXPECT_TRUE(error("...i,...i", {zeros({2, 4}), zeros({3, 4})}, {"2", "3"}));
}

TEST(Einsum, TheResultIsNeverAViewOfTheOperand) {
  const Tensor x = ones({2, 2});
  einsum("ij->ij", {x}).fill(7);
  EXPECT_EQ(x.to_vector<float>(), std::vector<float>(4, 1));
}

}  // namespace
}  // namespace tessera::test
