// Disentangled attention: the rows of distances, the definition of the scores, gradients and
// errors.
#include "tessera/nn/nn.h"
#include "tests/support/model_gradcheck.h"
#include "tests/support/nn_oracle.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;

std::vector<index_t> rows_of(const DisentangledOptions& options,
                             const std::vector<index_t>& distances) {
  std::vector<index_t> rows;
  for (const index_t distance : distances) rows.push_back(options.row_of(distance));
  return rows;
}

// The values are PyTorch's, by the formula of transformers.
TEST(Disentangled, RowsOfDistances) {
  EXPECT_EQ(rows_of({.span = 5}, {-8, -5, -4, -1, 0, 1, 4, 5, 8}),
            (std::vector<index_t>{0, 0, 1, 4, 5, 6, 9, 9, 9}));
  EXPECT_EQ(rows_of({.span = 8, .max_distance = 24},
                    {-30, -23, -13, -12, -8, -7, -5, -4, 0, 4, 5, 8, 12, 13, 30}),
            (std::vector<index_t>{0, 1, 1, 2, 2, 3, 3, 4, 8, 12, 13, 14, 14, 15, 15}));
  EXPECT_EQ(
      rows_of({.span = 256, .max_distance = 512}, {-600, -511, -510, -400, -256, -200, -129, -128,
                                                   -127, 0, 128, 129, 150, 300, 511, 600}),
      (std::vector<index_t>{0, 1, 1, 23, 64, 87, 127, 128, 129, 256, 384, 385, 399, 463, 511,
                            511}));
  EXPECT_EQ(rows_of({.span = 1}, {-2, -1, 0, 1, 2}), (std::vector<index_t>{0, 0, 1, 1, 1}));
  EXPECT_EQ(rows_of({.span = 2, .max_distance = 3}, {-3, -2, -1, 0, 1, 2, 3}),
            (std::vector<index_t>{1, 1, 1, 2, 3, 3, 3}));
}

std::vector<DisentangledOptions> variants() {
  return {{.span = 4},
          {.span = 4, .max_distance = 6},
          {.span = 3, .position_to_content = false},
          {.span = 3, .content_to_position = false, .shared = false},
          {.span = 9, .shared = false},
          {.span = 2, .content_to_position = false, .position_to_content = false}};
}

MultiHeadAttention make(const DisentangledOptions& options) {
  Rng rng(4);
  MultiHeadAttention attend(
      {.embed_dim = 8, .num_heads = 2, .head_dim = 3, .disentangled = options}, rng);
  std::uint64_t seed = 9;
  for_each_parameter(attend, [&](const std::string&, Tensor& parameter) {
    parameter = random_tensor(parameter.shape(), kFloat32, seed++);
  });
  return attend;
}

/// The bias of the definition: for each pair of tokens, products with the row of its distance.
Tensor naive_terms(const MultiHeadAttention& attend, const Tensor& x, const Tensor& table) {
  const DisentangledOptions& options = attend.disentangled->options;
  const StateDict state = state_dict(attend);
  const auto heads = [&](const Tensor& of, index_t part, const std::string& own) {
    const auto found = state.find(own + ".weight");
    const bool is_own = found != state.end();
    const Tensor weight =
        is_own ? found->second : state.at("in_proj_weight").slice(0, 6 * part, 6 * part + 6);
    const Tensor bias = is_own ? state.at(own + ".bias")
                               : state.at("in_proj_bias").slice(0, 6 * part, 6 * part + 6);
    return array(naive_split(naive_linear(of, weight, bias), 2));
  };
  const Array q = heads(x, 0, "-"), k = heads(x, 1, "-");
  const Tensor all = table.unsqueeze(0);
  const bool no_keys = !options.shared && !options.content_to_position;
  const bool no_queries = !options.shared && !options.position_to_content;
  const Array row_keys = no_keys ? Array() : heads(all, 1, "pos_key_proj");
  const Array row_queries = no_queries ? Array() : heads(all, 0, "pos_query_proj");
  const index_t tokens = x.size(1);
  const double factor = 1 / std::sqrt(3.0 * static_cast<double>(options.terms()));
  return wide(build({x.size(0), 2, tokens, tokens}, [&](const Dims& at) {
    const index_t b = at[0], h = at[1], i = at[2], j = at[3];
    const index_t row = options.row_of(i - j);
    double sum = 0;
    for (index_t c = 0; c < 3; ++c) {
      if (options.content_to_position) sum += q.at({b, h, i, c}) * row_keys.at({0, h, row, c});
      if (options.position_to_content) sum += k.at({b, h, j, c}) * row_queries.at({0, h, row, c});
    }
    return sum * factor;
  }));
}

TEST(Disentangled, FollowsItsDefinition) {
  const Tensor x = random_tensor({2, 7, 8}, kFloat32, 3);
  for (const DisentangledOptions& options : variants()) {
    SCOPED_TRACE(str_cat("span ", options.span, ", terms ", options.terms()));
    MultiHeadAttention attend = make(options);
    const Tensor table = random_tensor({2 * options.span, 8}, kFloat32, 5);
    const MaskParts mask = {.lengths = {7, 4}, .bias = naive_terms(attend, x, table)};
    const double scale = 1 / std::sqrt(3.0 * static_cast<double>(options.terms()));
    const NaiveHeads want = naive_multi_head(state_dict(attend), "", 2, x, x, x, mask, scale);
    const AttentionResult got = attend({.query = x,
                                        .mask = length_mask({7, 4}),
                                        .need_weights = AttentionRequest{},
                                        .distance_table = table});
    EXPECT_TRUE(near(got.output, array(want.output), 0, 5e-5));
    EXPECT_TRUE(near(got.weights, array(want.weights), 0, 1e-5));
    const UnpaddedRows rows(std::vector<index_t>{7, 4}, 7);
    const AttentionResult unpadded =
        attend({.query = rows.unpad(x), .unpadded = rows, .distance_table = table});
    EXPECT_TRUE(same_bits(rows.unpad(got.output), unpadded.output));
    prepack(attend);
    EXPECT_TRUE(
        same_bits(attend({.query = x, .mask = length_mask({7, 4}), .distance_table = table}).output,
                  got.output));
  }
}

TEST(Disentangled, GradientsAgreeWithDifferences) {
  const Tensor x = random_tensor({2, 5, 8}, kFloat64, 3);
  for (const DisentangledOptions& options : variants()) {
    SCOPED_TRACE(str_cat("span ", options.span, ", terms ", options.terms()));
    const Tensor table = random_tensor({2 * options.span, 8}, kFloat64, 5);
    EXPECT_TRUE(module_gradients_agree(make(options), [&](const MultiHeadAttention& attend) {
      return sum(square(
          attend({.query = x, .mask = length_mask({5, 3}), .distance_table = table}).output));
    }));
    MultiHeadAttention attend = make(options);
    convert(attend, kFloat64);
    if (options.terms() == 1) continue;  // reads no table
    const Function of_table = [&](const Tensors& inputs) {
      return attend({.query = inputs[0], .distance_table = inputs[1]}).output;
    };
    EXPECT_TRUE(gradcheck(of_table, {x, table}));
  }
}

TEST(Disentangled, Errors) {
  const auto refuses = [](const std::string& what, const MultiHeadAttentionOptions& options,
                          const char* op = "Disentangled") {
    fails(op, {what}, [&] { MultiHeadAttention{options}; });
  };
  const auto with = [](const DisentangledOptions& options) {
    return MultiHeadAttentionOptions{.embed_dim = 8, .num_heads = 2, .disentangled = options};
  };
  refuses("span must be at least 1, got 0", with({.span = 0}));
  refuses("span must be at most 4194304", with({.span = index_t{1} << 23}));
  refuses("max_distance must be 0, or at least 4 with a span of at least 2, got 3 and span 4",
          with({.span = 4, .max_distance = 3}));
  refuses("got 2 and span 1", with({.span = 1, .max_distance = 2}));
  refuses("dropout must be in [0, 1]", with({.span = 4, .dropout = 2}));
  MultiHeadAttentionOptions grouped = with({.span = 4});
  grouped.num_key_value_heads = 1;
  refuses("must be absent for disentangled attention", grouped, "MultiHeadAttention");
  MultiHeadAttentionOptions rotated = with({.span = 4});
  rotated.rotary.emplace();
  refuses("must be absent for disentangled attention", rotated, "MultiHeadAttention");
  const MultiHeadAttention attend = make({.span = 4});
  const Tensor x = zeros({1, 2, 8});
  fails("Disentangled", {"must have shape (8, D), got an undefined tensor"},
        [&] { attend({.query = x}); });
  fails("Disentangled", {"must have shape (8, D), got (6, 8)"}, [&] {
    attend({.query = x, .distance_table = zeros({6, 8})});
  });
  fails("MultiHeadAttention", {"must have width 8"}, [&] {
    attend({.query = x, .distance_table = zeros({8, 7})});
  });
}

}  // namespace
}  // namespace tessera::nn
