#include <tessera/models/token_encoder.h>
#include <tessera/nn/module.h>
#include "examples/course/exercises/check.h"

namespace tessera::exercises::checks {

void three_tables_are_added() {
  const Matrix words = {{1, 0}, {2, 0}, {3, 0}};
  const Matrix none = {{0, 0}, {0, 0}, {0, 0}};
  expect_close("embedded without positions and types", embedded({2, 0, 2}, words, none, none),
               {{3, 0}, {1, 0}, {3, 0}},
               {{{{1, 0}, {2, 0}, {3, 0}}, "row i is row ids[i] of words, not row i"}});
  expect_close("embedded with positions",
               embedded({2, 2}, words, {{0, 10}, {0, 20}, {0, 30}}, none), {{3, 10}, {3, 20}},
               {{{{3, 30}, {3, 30}}, "the position is i, the index in the text, not the id"}});
  expect_close("embedded with types", embedded({0, 1}, words, none, {{100, 0}, {-1, -1}}),
               {{101, 0}, {102, 0}}, {{{{1, 0}, {2, 0}}, "row 0 of types is added to each token"}});
}

void the_heads_are_the_librarys() {
  const auto expect_heads = [](const std::string& what, const Tensor& q, const Tensor& k,
                               const Tensor& v, index_t heads) {
    const auto apart = [&](const Tensor& x) {
      return x.unflatten(-1, {heads, 12 / heads}).transpose(0, 1);
    };
    const auto scaled = [&](double scale) {
      const Tensor y = attention(apart(q), apart(k), apart(v), {}, {.scale = scale}).output;
      return y.transpose(0, 1).flatten(1, 2);
    };
    expect_close("heads_of: " + what, heads_of(q, k, v, heads),
                 scaled(std::sqrt(static_cast<double>(heads) / 12)),
                 {{scaled(1), "scores are divided by sqrt(d)"},
                  {scaled(std::sqrt(1 / 12.0)), "d is a head's width, D / heads, not D"}});
  };
  const Tensor zero = zeros({5, 12}, kFloat64), q = randn({5, 12}, kFloat64),
               k = randn({5, 12}, kFloat64), v = randn({5, 12}, kFloat64);
  expect_heads("scores of 0", zero, zero, v, 3);
  expect_heads("one head", q, k, v, 1);
  expect_heads("three heads", q, k, v, 3);
}

void the_parameters_are_counted() {
  for (const BertSizes& sizes : {BertSizes{20, 8, 2, 4, 6, 0}, BertSizes{20, 8, 2, 4, 6, 1},
                                 BertSizes{207, 24, 2, 32, 64, 2}}) {
    models::TokenEncoderOptions options = {.vocab_size = sizes.words, .encoder = {}};
    options.encoder.layers =
        models::repeat_layer({.d_model = sizes.width, .nhead = 2, .dim_feedforward = sizes.hidden},
                             std::max<index_t>(sizes.layers, 1));
    options.positions = models::Positions::kLearned;
    options.max_positions = sizes.positions;
    options.type_vocab_size = sizes.types;
    options.embedding_norm = true;
    const models::TokenEncoder model(options);
    const index_t wanted =
        sizes.layers > 0 ? nn::parameter_count(model) : nn::parameter_count(model.embeddings);
    expect_close(str_cat("parameters_of_bert, ", sizes.layers, " layers"),
                 parameters_of_bert(sizes), wanted,
                 {{wanted - 2 * sizes.width, "the embeddings have a norm of 2 D numbers"},
                  {wanted - sizes.layers * 4 * sizes.width,
                   "each of attention's four products has a bias"}});
  }
}

std::vector<Exercise> all_exercises() {
  return {
      {"009.1 embedded", "three sums: words(ids[i], c), positions(i, c), types(0, c)",
       three_tables_are_added},
      {"009.2 heads_of",
       "softmax over the keys, for each head by itself; divide by the root of a head's width, not "
       "of D",
       the_heads_are_the_librarys},
      {"009.3 parameters_of_bert",
       "the embeddings' norm has 2 D; a layer has four (D, D) products and two (F, D) ones, each "
       "with a bias, and two norms",
       the_parameters_are_counted},
  };
}

}  // namespace tessera::exercises::checks
