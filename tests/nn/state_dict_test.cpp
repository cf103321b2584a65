#include "tessera/nn/state_dict.h"

#include "tessera/nn/feed_forward.h"
#include "tessera/nn/linear.h"
#include "tests/support/oracle.h"
#include "tests/support/test.h"

namespace tessera::nn {
namespace {

using namespace test;
using Names = std::vector<std::string>;

FeedForward network() {
  return FeedForward({.d_model = 2, .dim_feedforward = 3});
}

/// `state` with `prefix` before each name.
StateDict under(const std::string& prefix, const StateDict& state) {
  StateDict result;
  for (const auto& [name, tensor] : state) result.emplace(prefix + name, tensor);
  return result;
}

TEST(Summary, ListsNamesShapesAndCounts) {
  const std::string text = summary(Linear(3, 20));
  EXPECT_EQ(text,
            "bias    (20,)    20\n"
            "weight  (20, 3)  60\n"
            "total            80\n");
}

TEST(LoadStateDict, AWrongStateIsListedInPart) {
  StateDict wrong;
  for (int i = 0; i < 100; ++i) wrong.emplace(str_cat("other.", i), zeros({1}));
  Linear layer(2, 3);
  try {
    load_state_dict(layer, wrong);
    FAIL() << "a wrong state was loaded";
  } catch (const std::invalid_argument& error) {
    const std::string text = error.what();
    EXPECT_TRUE(contains(text, "missing: weight (3, 2)"));
    EXPECT_TRUE(contains(text, "and 72 more"));
    EXPECT_LT(text.size(), 1200U) << text;
  }
}

TEST(LoadStateDict, TakesWhatIsUnderAPrefix) {
  FeedForward to = network();
  const FeedForward from = network();
  StateDict state = under("encoder.", state_dict(from));
  state.emplace("decoder.linear1.weight", ones({9}));
  state.emplace("linear1.weight", ones({3, 2}));
  const LoadReport report = load_state_dict(to, state, {.prefix = "encoder."});
  EXPECT_EQ(report.missing_keys, Names());
  EXPECT_EQ(report.unexpected_keys, (Names{"decoder.linear1.weight", "linear1.weight"}));
  EXPECT_TRUE(same_bits(to.linear1.weight, from.linear1.weight));

  state.emplace("encoder.extra", ones({1}));
  fails("load_state_dict", "unexpected: encoder.extra (1,)",
        [&] { load_state_dict(to, state, {.prefix = "encoder."}); });
}

TEST(LoadStateDict, ReportsWhatItDoesNotTouch) {
  FeedForward to = network();
  const Tensor bias = to.linear1.bias.clone();
  StateDict state = state_dict(network());
  state.erase("linear1.bias");
  state.emplace("head", ones({1}));
  const LoadReport report = load_state_dict(to, state, {.strict = false});
  EXPECT_EQ(report.missing_keys, Names{"linear1.bias"});
  EXPECT_EQ(report.unexpected_keys, Names{"head"});
  EXPECT_TRUE(same_bits(to.linear1.bias, bias));
  EXPECT_TRUE(same_bits(to.linear1.weight, state.at("linear1.weight")));

  // A different shape is still an error, and so is a load without matching names.
  state.at("linear2.bias") = ones({7});
  fails("load_state_dict", "linear2.bias must have shape (2,), got (7,)",
        [&] { load_state_dict(to, state, {.strict = false}); });
  fails("load_state_dict", "none of the 1 names of the state fits", [&] {
    load_state_dict(to, {{"x", ones({1})}}, {.strict = false});
  });
}

TEST(LoadStateDict, SaysWhichPrefixWouldFit) {
  FeedForward to = network();
  const StateDict state = under("bert.encoder.", state_dict(to));
  const auto says = [&](const std::string& text, const StateDict& given, const LoadOptions& how) {
    return throws("load_state_dict", {text}, [&] { load_state_dict(to, given, how); });
  };
  const std::string cure =
      "4 of 4 names fit after 'bert.encoder.': load with .prefix = \"bert.encoder.\"";
  EXPECT_TRUE(says(cure, state, {}));
  EXPECT_TRUE(says(cure, state, {.strict = false}));
  EXPECT_TRUE(says(cure, state, {.prefix = "bert."}));
  StateDict more = state;
  more.emplace("bert.pooler.weight", ones({2}));
  EXPECT_TRUE(says("4 of 5 names fit after 'bert.encoder.'", more, {}));
  load_state_dict(to, more, {.prefix = "bert.encoder."});
  EXPECT_TRUE(says("4 of 4 names fit as they are: load without a prefix", state_dict(to),
                   {.prefix = "bert."}));
}

TEST(LoadStateDict, KeepsSilentWhereNoPrefixHelps) {
  FeedForward to = network();
  StateDict state = state_dict(to);
  state.erase("linear1.bias");
  try {
    load_state_dict(to, state);
    FAIL() << "loaded";
  } catch (const std::invalid_argument& error) {
    EXPECT_FALSE(contains(std::string(error.what()), "prefix")) << error.what();
  }
}

}  // namespace
}  // namespace tessera::nn
