#include "models/hugging_face/detail/family.h"

#include "tests/support/file_support.h"
#include "tests/support/test.h"

namespace tessera::models {
namespace {

using Names = std::vector<std::string>;

/// Their names for ours; "-" if the line is for other parameters.
Names theirs(const WeightName& line, const std::string& ours, index_t group_size = 1) {
  const auto tensors = tensor_names(line, ours, group_size);
  return tensors ? tensors->names : Names{"-"};
}

TEST(WeightNames, FillNumberAndLastPart) {
  const WeightName line = {"layers.#.norm.*", "h.#.ln.*"};
  EXPECT_EQ(theirs(line, "layers.0.norm.weight"), Names{"h.0.ln.weight"});
  EXPECT_EQ(theirs(line, "layers.12.norm.bias"), Names{"h.12.ln.bias"});
  for (const char* other : {"layers.0.norm", "layers.0.norm.gamma", "layers.0.norm.weight.weight",
                            "layers.x.norm.weight", "layers.0.norm2.weight", "norm.weight", ""}) {
    EXPECT_EQ(theirs(line, other), Names{"-"}) << other;
  }
  const WeightName whole = {"table.weight", "wte.weight"};
  EXPECT_EQ(theirs(whole, "table.weight"), Names{"wte.weight"});
  EXPECT_EQ(theirs(whole, "table.bias"), Names{"-"});
}

TEST(WeightNames, BracesAreRowsInOrder) {
  const WeightName line = {"a.#.in_proj_*", "b.#.{q,k,v}.lin.*"};
  EXPECT_EQ(theirs(line, "a.3.in_proj_bias"),
            (Names{"b.3.q.lin.bias", "b.3.k.lin.bias", "b.3.v.lin.bias"}));
}

TEST(WeightNames, GroupsCutTheNumberInTwo) {
  const WeightName line = {"layers.#.*", "groups.@.inner.%.*"};
  EXPECT_EQ(theirs(line, "layers.5.weight", 2), Names{"groups.2.inner.1.weight"});
  EXPECT_EQ(theirs(line, "layers.5.weight"), Names{"groups.5.inner.0.weight"});
}

TEST(WeightNames, ListOurs) {
  EXPECT_EQ(our_names({"l.#.w_*", ""}, 2),
            (Names{"l.0.w_weight", "l.0.w_bias", "l.1.w_weight", "l.1.w_bias"}));
  EXPECT_EQ(our_names({"table.weight", ""}, 2), Names{"table.weight"});
}

TEST(WeightNames, HaveSpellings) {
  EXPECT_EQ(spellings("ln.weight", "bert."),
            (Names{"ln.weight", "ln.gamma", "bert.ln.weight", "bert.ln.gamma"}));
  EXPECT_EQ(spellings("ln.bias", "bert."),
            (Names{"ln.bias", "ln.beta", "bert.ln.bias", "bert.ln.beta"}));
}

// Tables are data that are not checked as a whole elsewhere.
TEST(Families, HaveWellFormedTables) {
  std::set<std::string_view> names;
  for (const Family* family : all_families()) {
    EXPECT_TRUE(names.insert(family->name).second) << family->name;
    EXPECT_TRUE(family->prefix.ends_with('.')) << family->name;
    for (const auto& lines : {family->encoder_names, family->head_names}) {
      for (const WeightName& line : lines) {
        const auto count = [](std::string_view text, char c) {
          return std::count(text.begin(), text.end(), c);
        };
        const std::string what = str_cat(family->name, ": ", line.ours, " <- ", line.theirs);
        EXPECT_EQ(count(line.ours, '*'), count(line.theirs, '*')) << what;
        EXPECT_EQ(count(line.ours, '#'), count(line.theirs, '#') + count(line.theirs, '@')) << what;
        EXPECT_EQ(count(line.theirs, '@'), count(line.theirs, '%')) << what;
        EXPECT_EQ(count(line.theirs, '{'), count(line.theirs, '}')) << what;
        EXPECT_EQ(count(line.theirs, '@') > 0,
                  family->group_size != nullptr && count(line.ours, '#'))
            << what;
      }
    }
  }
}

TEST(Families, AreRefusedByName) {
  const auto refusal = [](const std::string& type) {
    return test::file_error([&] { family_of(parse_json("{\"model_type\": " + type + "}", "c")); });
  };
  EXPECT_EQ(&family_of(parse_json(R"({"model_type": "mpnet"})", "c")),
            &family_of(parse_json(R"({"model_type": "mpnet", "x": 1})", "c")));
  EXPECT_EQ(
      refusal("\"deberta-v2\"").substr(0, 85),
      "c: model_type: must be a supported family, got the text 'deberta-v2'; its attention n");
  EXPECT_TRUE(test::contains(refusal("\"t5\""), "must be one of bert, roberta"));
  EXPECT_TRUE(test::contains(refusal("\"t5\""), "got the text 't5'"));
  EXPECT_TRUE(test::contains(refusal("null"), "model_type"));
}

}  // namespace
}  // namespace tessera::models
