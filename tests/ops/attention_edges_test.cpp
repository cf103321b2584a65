// Edge cases of attention: masked NaN, empty inputs, errors. The values are in attention_test.cpp.

#include "tessera/tensor/autograd/tape.h"
#include "tessera/tensor/error.h"
#include "tessera/tensor/ops/arithmetic.h"
#include "tessera/tensor/ops/attention.h"
#include "tessera/tensor/ops/compare.h"
#include "tessera/tensor/ops/matmul.h"
#include "tessera/tensor/ops/reduce.h"
#include "tessera/tensor/ops/softmax.h"
#include "tessera/tensor/storage.h"
#include "tests/support/attention_oracle.h"
#include "tests/support/test.h"

namespace tessera::test {
namespace {

using AttentionEdgesTest = IsaTest;
INSTANTIATE_TEST_SUITE_P(Isa, AttentionEdgesTest, each_isa(), isa_name);

/// Self-attention over one sequence, two heads.
struct Sequence {
  Tensor q, k, v;

  Sequence(index_t tokens, DType dtype)
      : q(random_tensor({1, 2, tokens, 9}, dtype, 1)),
        k(random_tensor({1, 2, tokens, 9}, dtype, 2)),
        v(random_tensor({1, 2, tokens, 19}, dtype, 3)) {}

  Tensor attend(const AttentionMask& mask) const { return attention(q, k, v, mask).output; }
  void spoil(Tensor Sequence::*which, index_t key, double with) {
    (this->*which).select(2, key).fill(with);
  }
};

struct NamedMask {
  std::string name;
  AttentionMask mask;
};

/// Every kind of mask that hides the keys from `first` on from all queries.
std::vector<NamedMask> masks_from(index_t first, index_t tokens) {
  Tensor keep = ones({1, tokens}, kBool);
  keep.slice(1, first).fill(0);
  Tensor ignore = zeros({1, tokens}, kBool);
  ignore.slice(1, first).fill(1);
  Tensor bias = zeros({tokens});
  bias.slice(0, first).fill(-kInf);
  return {{"length", length_mask({first})},
          {"keep", keep_mask(keep)},
          {"ignore", ignore_mask(ignore)},
          {"keep keys", keep_keys_mask(keep)},
          {"ignore keys", ignore_keys_mask(ignore)},
          {"additive", additive_mask(bias)},
          {"length and keep", length_mask({first}) & keep_mask(keep)},
          {"additive and ignore", additive_mask(bias) & ignore_mask(ignore)}};
}

TEST_P(AttentionEdgesTest, NothingLeaksFromBehindAMask) {
  for (DType dtype : {kFloat32, kFloat64}) {
    for (index_t first : {5, 128}) {
      const index_t tokens = 140;
      for (const auto& [name, mask] : masks_from(first, tokens)) {
        const Tensor want = Sequence(tokens, dtype).attend(mask);
        for (double bad : {kNaN, kInf, -kInf}) {
          SCOPED_TRACE(str_cat(name, ", keys from ", first, " are ", bad));
          Sequence dirty(tokens, dtype);
          for (index_t key = first; key < tokens; ++key) {
            dirty.spoil(&Sequence::k, key, bad);
            dirty.spoil(&Sequence::v, key, bad);
          }
          EXPECT_TRUE(same_bits(dirty.attend(mask), want));
        }
      }
    }
  }
}

TEST_P(AttentionEdgesTest, NothingLeaksInAnyColumn) {
  for (index_t width : {1, 5, 19, 35}) {
    Sequence dirty(9, kFloat32);
    dirty.v = random_tensor({1, 2, 9, width}, kFloat32, 3);
    const Tensor values = dirty.v.clone();
    const Tensor want = dirty.attend(length_mask({6}));
    Tensor keep = ones({9}, kBool);
    keep.slice(0, 6).fill(0);
    for (index_t column = 0; column < width; ++column) {
      dirty.v.copy_from(values);
      dirty.v.select(3, column).select(2, 7).fill(kNaN);
      EXPECT_TRUE(same_bits(dirty.attend(keep_mask(keep)), want)) << column << " of " << width;
    }
  }
}

TEST_P(AttentionEdgesTest, ABadTokenShowsInTheQueriesThatSeeItAndNowhereElse) {
  using Member = Tensor Sequence::*;
  struct Case {
    AttentionMask mask;
    std::function<bool(index_t query, index_t key)> sees;
  };
  constexpr index_t kTokens = 140;
  Tensor keep = ones({kTokens, kTokens}, kBool);
  keep.select(1, 3).fill(0);
  keep.select(1, 3).select(0, 70).fill(1);  // only this query sees key 3
  const std::vector<Case> cases = {
      {{}, [](index_t, index_t) { return true; }},
      {causal_mask(), [](index_t i, index_t j) { return j <= i; }},
      {window_mask(20), [](index_t i, index_t j) { return std::abs(i - j) <= 20; }},
      {keep_mask(keep), [](index_t i, index_t j) { return j != 3 || i == 70; }}};
  for (DType dtype : {kFloat32, kFloat64}) {
    for (std::size_t number = 0; number < cases.size(); ++number) {
      const auto& [mask, sees] = cases[number];
      const Tensor want = Sequence(kTokens, dtype).attend(mask);
      for (Member which : {&Sequence::q, &Sequence::k, &Sequence::v}) {
        for (index_t token : {1, 3, 65, 92, 139}) {
          SCOPED_TRACE(str_cat("case ", number, ", token ", token, ", ", dtype));
          Sequence dirty(kTokens, dtype);
          dirty.spoil(which, token, kNaN);
          const Tensor got = dirty.attend(mask);
          for (index_t i = 0; i < kTokens; ++i) {
            const bool shows = which == &Sequence::q ? i == token : sees(i, token);
            const Tensor row = got.select(2, i);
            if (shows) {
              ASSERT_TRUE(all(isnan(row)).item<bool>()) << "query " << i;
            } else {
              ASSERT_TRUE(same_bits(row, want.select(2, i))) << "query " << i;
            }
          }
        }
      }
    }
  }
}

TEST_P(AttentionEdgesTest, ANanInABiasShowsOnlyWhereItIsSeen) {
  const Sequence sequence(70, kFloat32);
  const Tensor clean = zeros({70, 70});
  Tensor dirty = zeros({70, 70});
  dirty.select(1, 66).fill(kNaN);
  const auto causal = [&](const Tensor& bias) {
    return sequence.attend(causal_mask() & additive_mask(bias));
  };
  EXPECT_TRUE(same_bits(causal(dirty).slice(2, 0, 66), causal(clean).slice(2, 0, 66)));
  Tensor keep = ones({70}, kBool);
  keep.select(0, 66).fill(0);
  const auto kept = [&](const Tensor& bias) {
    return sequence.attend(keep_mask(keep) & additive_mask(bias));
  };
  EXPECT_TRUE(same_bits(kept(dirty), kept(clean)));
}

TEST_P(AttentionEdgesTest, AQueryDoesNotDependOnItsNeighboursMasks) {
  // Key 1 has weight 0 by underflow for query 0, and a value that is not finite; a mask of that key
  // for another query of the block must not change the result of query 0.
  const Tensor q = tensor({{1.0}, {1.0}});
  const Tensor k = tensor({{0.0}, {-3000.0}});
  const Tensor v = tensor({{2.0}, {kNaN}});
  const Tensor keep = tensor({{true, true}, {true, false}});
  const Tensor alone = attention(q, k, v).output;
  const Tensor masked = attention(q, k, v, keep_mask(keep)).output;
  EXPECT_TRUE(same_bits(masked.select(0, 0), alone.select(0, 0)));
}

TEST_P(AttentionEdgesTest, InfiniteScores) {
  // +inf in a row of scores gives NaN, -inf a weight of 0, as in softmax.
  const Tensor q = tensor({{1.0}, {-1.0}});
  const Tensor k = tensor({{kInf}, {1.0}});
  const Tensor v = tensor({{2.0}, {3.0}});
  const Tensor out = attention(q, k, v).output;
  EXPECT_TRUE(std::isnan(out.item_at({0, 0})));
  EXPECT_EQ(out.item_at({1, 0}), 3);
}

// A bias of +inf makes its row NaN, as in softmax, because no other weight remains. In float64 a
// bias as large as the largest float32 is an ordinary number.
TEST_P(AttentionEdgesTest, ABiasOfPlusInfinityGivesNan) {
  for (DType dtype : {kFloat32, kFloat64}) {
    for (index_t tokens : {3, 140}) {
      Tensor bias = zeros({tokens, tokens}, dtype);
      bias.select(0, 1).select(0, tokens - 1).fill(kInf);
      bias.select(0, 2).select(0, 0).fill(static_cast<double>(std::numeric_limits<float>::max()));
      const Sequence sequence(tokens, dtype);
      const AttentionResult got = attention(sequence.q, sequence.k, sequence.v, additive_mask(bias),
                                            {.need_weights = AttentionRequest{}});
      const Tensor scores = matmul(sequence.q, sequence.k.transpose(-1, -2)) / 3.0 + bias;
      const Tensor want = softmax(scores);
      EXPECT_TRUE(same_bits(isnan(got.weights), isnan(want)));
      EXPECT_TRUE(all(isnan(got.output.select(2, 1))).item<bool>());
      EXPECT_FALSE(any(isnan(got.output.select(2, 0))).item<bool>());
      EXPECT_TRUE(same_bits(got.weights.select(2, 2).select(2, 0), ones({1, 2}, dtype)));
    }
  }
}

TEST_P(AttentionEdgesTest, AMaskedKeyMayHaveABiasOfPlusInfinity) {
  const Sequence sequence(70, kFloat32);
  Tensor bias = zeros({70, 70});
  bias.slice(1, 60).fill(kInf);
  const AttentionMask mask = length_mask({60});
  EXPECT_TRUE(same_bits(sequence.attend(mask & additive_mask(bias)), sequence.attend(mask)));
}

TEST_P(AttentionEdgesTest, AMaskOfTheLowestFloatIsFinite) {
  const Tensor q = ones({2, 4});
  const Tensor k = ones({3, 4});
  const Tensor v = tensor({{3.0}, {6.0}, {9.0}});
  const double lowest = std::numeric_limits<float>::lowest();
  // For all keys, it changes no weight; for one key, that key is masked.
  const Tensor all = attention(q, k, v, additive_mask(full({2, 3}, lowest))).output;
  const Tensor one = attention(q, k, v, additive_mask(tensor({0.0, 0.0, lowest}))).output;
  for (index_t i : {0, 1}) {
    EXPECT_FLOAT_EQ(all.item_at<float>({i, 0}), 6);
    EXPECT_FLOAT_EQ(one.item_at<float>({i, 0}), 4.5);
  }
}

TEST_P(AttentionEdgesTest, AMaskedKeyDoesNotTurnTheSignOfAZero) {
  const Tensor q = tensor({{2.0, 0.0}});
  const Tensor k = tensor({{3.0, 0.0}, {0.0, 0.0}, {0.0, 0.0}});
  const Tensor v = tensor({{0.0}, {-1.4e-45}, {1.0}});
  const Tensor without = attention(q, k.slice(0, 0, 2), v.slice(0, 0, 2)).output;
  EXPECT_TRUE(
      same_bits(attention(q, k, v, keep_mask(tensor({true, true, false}))).output, without));
}

// A length mask saves time but no memory, because the kernels allocate none.
TEST_P(AttentionEdgesTest, MemoryDoesNotGrowWithTheSquareOfTheLength) {
  struct Length {
    index_t tokens;
    bool backward;
    double dropout;
    index_t megabytes;  // a matrix of scores would have 4295, 268 and 67
  };
  const auto held = [] { return memory_stats().in_use + memory_stats().cached; };
  for (const auto& [tokens, backward, dropout, megabytes] :
       {Length{32768, false, 0, 64}, {8192, true, 0, 64}, {4096, true, 0.1, 31}}) {
    const Tensor x = ones({1, 1, tokens, 64}).set_requires_grad(backward);
    release_cached_memory();
    const index_t before = held();
    Tensor out;
    {
      Tape tape;
      out = attention(x, x, x, length_mask({64}), {.dropout = {dropout, 1}}).output;
      if (backward) tape.backward(sum(std::exchange(out, Tensor())));
    }
    const index_t extra = held() - before - x.count() * static_cast<index_t>(sizeof(float));
    EXPECT_GT(extra, 0);
    EXPECT_LT(extra, megabytes * 1000 * 1000) << tokens;
  }
}

TEST_P(AttentionEdgesTest, EmptyInputs) {
  const auto attend = [](const Shape& q, const Shape& k, const Shape& v) {
    const AttentionResult got =
        attention(zeros(q), zeros(k), ones(v), causal_mask(), {.need_weights = AttentionRequest{}});
    Shape weights = q, output = q;
    weights.back() = k[k.size() - 2];
    output.back() = v.back();
    EXPECT_EQ(got.weights.shape(), weights);
    EXPECT_EQ(got.output.shape(), output);
    return got.output;
  };
  attend({0, 2, 3, 4}, {0, 2, 5, 4}, {0, 2, 5, 6});
  attend({2, 0, 3, 4}, {2, 0, 5, 4}, {2, 0, 5, 6});
  attend({2, 2, 0, 4}, {2, 2, 5, 4}, {2, 2, 5, 6});
  attend({2, 2, 3, 4}, {2, 2, 5, 4}, {2, 2, 5, 0});
  attend({0, 4}, {0, 4}, {0, 6});
  // No keys: nothing to attend to. No width: every score is 0, so the result is the average of the
  // values.
  EXPECT_TRUE(same_bits(attend({2, 2, 3, 4}, {2, 2, 0, 4}, {2, 2, 0, 6}), zeros({2, 2, 3, 6})));
  EXPECT_TRUE(same_bits(attend({2, 2, 3, 0}, {2, 2, 4, 0}, {2, 2, 4, 6}), ones({2, 2, 3, 6})));
  EXPECT_TRUE(same_bits(
      attention(zeros({3, 4}), zeros({0, 4}), ones({0, 6}), length_mask(std::vector<index_t>{0}))
          .output,
      zeros({3, 6})));
  EXPECT_EQ(attention(zeros({0, 3, 4}), zeros({0, 3, 4}), zeros({0, 3, 4}),
                      length_mask(zeros({0}, kInt64)) & keep_mask(zeros({0, 1, 3, 3}, kBool)))
                .output.shape(),
            (Shape{0, 3, 4}));
}

TEST(AttentionEdges, MasksCombine) {
  const Tensor keep = tensor({true, true, false, true});
  const Tensor ignore = tensor({{false}, {true}});
  const Tensor bias = tensor({0.5, -1.0, 2.0, 0.0});
  const AttentionMask both = keep_mask(keep) & ignore_mask(ignore) & additive_mask(bias) &
                             additive_mask(bias) & length_mask({3, 4}) & length_mask({4, 2});
  EXPECT_FALSE(both.causal());
  EXPECT_TRUE((both & causal_mask()).causal());
  EXPECT_TRUE((causal_mask() & both).causal());
  EXPECT_TRUE(
      same_bits(both.keep(), tensor({{true, true, false, true}, {false, false, false, false}})));
  EXPECT_TRUE(same_bits(both.bias(), tensor({1.0, -2.0, 4.0, 0.0})));
  EXPECT_TRUE(same_bits(both.lengths(), tensor({3, 2})));
  EXPECT_FALSE(both.window());
  EXPECT_EQ((both & window_mask(3)).window(), 3);
  EXPECT_EQ((window_mask(3) & both & window_mask(2)).window(), 2);
  EXPECT_EQ((window_mask(0) & window_mask(2)).window(), 0);
  const AttentionMask none;
  EXPECT_FALSE((none & none).keep().defined());
  EXPECT_TRUE((none & keep_mask(keep)).keep().defined());
}

TEST(AttentionEdges, AMaskGivesAndTakesItsTensors) {
  const AttentionMask full = causal_mask() & window_mask(4) & length_mask({3, 2}) &
                             keep_mask(tensor({true, false, true})) &
                             additive_mask(tensor({0.5, -1.0, 2.0}));
  std::vector<Tensor> tensors = full.tensors();
  for (Tensor& each : tensors) each = each.clone();
  const AttentionMask same = full.with_tensors(tensors);
  EXPECT_TRUE(same.causal());
  EXPECT_EQ(same.window(), 4);
  EXPECT_TRUE(same_bits(same.lengths(), full.lengths()));
  EXPECT_TRUE(same_bits(same.keep(), full.keep()));
  EXPECT_TRUE(same_bits(same.bias(), full.bias()));
  EXPECT_FALSE(same.bias().storage() == full.bias().storage());
  const AttentionMask causal = full.with_tensors(AttentionMask().tensors());
  EXPECT_TRUE(causal.causal());
  for (const Tensor& each : causal.tensors()) EXPECT_FALSE(each.defined());
  fails("with_tensors", {"3", "2"}, [&] { full.with_tensors(std::vector<Tensor>(2)); });
  for (const auto& [part, wrong] : std::vector<std::pair<std::size_t, Tensor>>{
           {0, tensor({3, 2, 1})}, {0, tensor({0.5, 1.0})}, {0, tensor({3, -1})}, {1, ones({3})}}) {
    std::vector<Tensor> changed = tensors;
    changed[part] = wrong;
    fails("with_tensors", "must be", [&] { full.with_tensors(changed); });
  }
  fails("with_tensors", "tensor 0 must be", [&] { causal.with_tensors(tensors); });
  tensors[0] = tensor({-5, 3, -7, 2}).slice(0, 1, 4, 2);
  EXPECT_TRUE(same_bits(full.with_tensors(tensors).lengths(), tensor({3, 2})));
  EXPECT_TRUE(full.with_tensors(tensors).lengths().is_contiguous());
}

TEST(AttentionEdges, KeyMasksCoverAllQueriesAndHeads) {
  const Tensor keys = tensor({{true, false, true}});
  EXPECT_EQ(keep_keys_mask(keys).keep().shape(), (Shape{1, 1, 1, 3}));
  EXPECT_TRUE(same_bits(ignore_keys_mask(keys).keep().reshape({3}), tensor({false, true, false})));
  EXPECT_TRUE(same_bits(ignore_mask(keys).keep(), tensor({{false, true, false}})));
}

TEST(AttentionEdges, ErrorsOfInputs) {
  const auto attend = [](const Shape& q, const Shape& k, const Shape& v) {
    return [=] { attention(zeros(q), zeros(k), zeros(v)); };
  };
  const auto error = [&](const std::vector<std::string>& parts, const auto& body) {
    fails("attention", parts, body);
  };
  error({"2 to 4 axes", "q (4,), k (4,), v (4,)"}, attend({4}, {4}, {4}));
  error({"2 to 4 axes", "(2, 3)", "(1, 2, 3)"}, attend({2, 3}, {1, 2, 3}, {1, 2, 3}));
  error({"2 to 4 axes"}, attend({1, 1, 1, 2, 3}, {1, 1, 1, 2, 3}, {1, 1, 1, 2, 3}));
  error({"k and v must have the same number of heads", "k (2, 1, 3, 4), v (2, 5, 3, 4)"},
        attend({2, 5, 3, 4}, {2, 1, 3, 4}, {2, 5, 3, 4}));
  error({"width", "q (3, 4), k (3, 5)"}, attend({3, 4}, {3, 5}, {3, 4}));
  error({"length", "k (3, 4), v (2, 4)"}, attend({3, 4}, {3, 4}, {2, 4}));
  const Tensor x = zeros({3, 4});
  error({"undefined"}, [&] { attention(x, Tensor(), x); });
  error({"float32", "float64", "int64"}, [&] { attention(x, x.to(kFloat64), x.to(kInt64)); });
  error({"dtype", "int64"}, [&] { attention(x.to(kInt64), x.to(kInt64), x.to(kInt64)); });
  error({"scale must be finite", "nan"}, [&] { attention(x, x, x, {}, {.scale = std::nan("")}); });
}

TEST(AttentionEdges, ErrorsOfMasks) {
  const Tensor x = zeros({2, 3, 5, 4});
  const auto with = [&](const AttentionMask& mask) { return [=] { attention(x, x, x, mask); }; };
  fails("attention", {"2 lengths", "got 3"}, with(length_mask({1, 2, 3})));
  fails("attention", {"bool mask", "(5, 4)", "(2, 3, 5, 5)"}, with(keep_mask(ones({5, 4}, kBool))));
  fails("attention", {"additive mask", "(3, 1, 5, 5)", "(2, 3, 5, 5)"},
        with(additive_mask(ones({3, 1, 5, 5}))));
  fails("attention", "(1, 1, 1, 5, 5)", with(additive_mask(ones({1, 1, 1, 5, 5}))));
  // Padding by key has a batch axis, which must match the batch.
  fails("attention", "(3, 1, 1, 5)", with(keep_keys_mask(ones({3, 5}, kBool))));
  // A mask of queries and keys, and a mask of keys, each given to the other function.
  const std::string of_pairs = "; for a mask of shape (Tq, Tk) call keep_mask() or ignore_mask()";
  fails("attention", {"(5, 1, 1, 5)", of_pairs}, with(keep_keys_mask(ones({5, 5}, kBool))));
  fails("attention", {"(5, 1, 1, 5)", of_pairs},
        with(causal_mask() & ignore_keys_mask(ones({5, 5}, kBool))));
  fails("attention",
        {"(2, 5)", "; for a mask of shape (B, Tk) call keep_keys_mask() or ignore_keys_mask()"},
        with(ignore_mask(ones({2, 5}, kBool))));
}

TEST(AttentionEdges, ALengthAboveTheKeysIsAnError) {
  const Tensor q = zeros({2, 3, 4, 4});
  const Tensor k = zeros({2, 3, 5, 4});
  EXPECT_NO_THROW(attention(q, k, k, length_mask({5, 0})));
  fails("attention", "length_mask row 1 must be at most T = 5, got 6", [&] {
    attention(q, k, k, length_mask({5, 6}));
  });
  const Tensor unpadded = zeros({1, 3, 7, 4});
  fails("attention", {"row 0", "T = 4", "got 5"}, [&] {
    attention(unpadded, unpadded, unpadded, length_mask({5, 3}),
              {.unpadded = UnpaddedRows({4, 3})});
  });
}

TEST(AttentionEdges, ErrorsOfMaking) {
  fails("length_mask", {"int64", "(B)", "float32"}, [] { length_mask(ones({2})); });
  fails("length_mask", "(1, 2)", [] { length_mask(ones({1, 2}, kInt64)); });
  fails("length_mask", {"at least 0", "-3"}, [] { length_mask({2, -3}); });
  fails("length_mask", "int64", [] { length_mask(Tensor()); });
  fails("window_mask", {"at least 0", "-1"}, [] { window_mask(-1); });
  fails("keep_mask", {"bool", "float32"}, [] { keep_mask(ones({2})); });
  fails("keep_mask", {"bool", "undefined"}, [] { keep_mask(Tensor()); });
  fails("ignore_mask", {"bool", "int64"}, [] { ignore_mask(tensor({1, 0})); });
  fails("keep_keys_mask", {"(B, Tk)", "(3,)"}, [] { keep_keys_mask(ones({3}, kBool)); });
  fails("ignore_keys_mask", {"(B, Tk)", "(1, 1, 3)"}, [] {
    ignore_keys_mask(ones({1, 1, 3}, kBool));
  });
  fails("additive_mask", {"floating", "keep_mask"}, [] { additive_mask(ones({3}, kBool)); });
  fails("additive_mask", "undefined", [] { additive_mask(Tensor()); });
  EXPECT_ANY_THROW(length_mask({1, 2}) & length_mask({1, 2, 3}));
  EXPECT_ANY_THROW(keep_mask(ones({2}, kBool)) & keep_mask(ones({3}, kBool)));
}

}  // namespace
}  // namespace tessera::test
