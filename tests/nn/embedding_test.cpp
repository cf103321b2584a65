#include "tessera/nn/embedding.h"

#include "tessera/nn/nn.h"
#include "tessera/tensor/ops/indexing.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

TEST(Embedding, LooksRowsUp) {
  for (DType dtype : {kFloat32, kFloat64}) {
    Embedding embed(11, 6);
    convert(embed, dtype);
    for (const Shape& shape : {Shape{}, Shape{7}, Shape{3, 5}, Shape{2, 0}, Shape{2, 3, 4}}) {
      const Tensor ids = random_tensor(shape, kInt64, 4, 0, 11);
      EXPECT_TRUE(same_bits(embed(ids), embedding(ids, embed.weight))) << shape;
    }
  }
}

TEST(Embedding, ThePaddingRowIsZero) {
  for (index_t padding : {3, -8}) {  // -8 of 11 counts from the end
    manual_seed(3);
    const Embedding embed({.num_embeddings = 11, .embedding_dim = 6, .padding_idx = padding});
    EXPECT_EQ(embed.padding_idx, 3);
    EXPECT_TRUE(same_bits(embed(tensor({3})), zeros({1, 6})));
    manual_seed(3);
    const Embedding without(11, 6);
    EXPECT_FALSE(without.padding_idx.has_value());
    for (index_t row : {2, 4}) {
      EXPECT_TRUE(same_bits(embed.weight->select(0, row), without.weight->select(0, row)));
    }
  }
}

TEST(Embedding, ThePaddingRowGetsNoGradient) {
  Embedding embed({.num_embeddings = 4, .embedding_dim = 2, .padding_idx = 1});
  set_requires_grad(embed);
  Tape tape;
  tape.backward(sum(embed(tensor({1, 3, 1, 0, 3}))));
  EXPECT_TRUE(
      same_bits(embed.weight->grad(), tensor({{1.F, 1.F}, {0.F, 0.F}, {0.F, 0.F}, {2.F, 2.F}})));
}

TEST(Embedding, Errors) {
  const Embedding embed(11, 6);
  fails("embedding", "11", [&] { embed(tensor({1, 11})); });
  for (index_t padding : {11, -12}) {
    fails("Embedding", {"padding_idx must be from -11 to 10", str_cat("got ", padding)},
          [&] { Embedding({.num_embeddings = 11, .embedding_dim = 6, .padding_idx = padding}); });
  }
}

}  // namespace
}  // namespace tessera::nn
