#include "tessera/tensor/kernels/dispatch.h"

#include <cstdlib>

#include "tessera/tensor/kernels/table.h"
#include "tests/support/test.h"

namespace tessera {
namespace {

/// Restores the instruction set, so that tests can be run in any order.
class DispatchTest : public ::testing::Test {
 protected:
  void TearDown() override { set_isa(initial_); }
  const std::string initial_ = current_isa();
};

TEST_F(DispatchTest, DefaultIsAvailable) {
  const auto isas = available_isas();
  ASSERT_FALSE(isas.empty());
  EXPECT_EQ(isas.front(), "baseline");
  EXPECT_NE(std::find(isas.begin(), isas.end(), current_isa()), isas.end());
}

TEST_F(DispatchTest, DefaultIsTheLastOrTheForcedOne) {
  const char* forced = std::getenv("TESSERA_ISA");
  const bool is_forced = forced != nullptr && *forced != '\0';
  EXPECT_EQ(initial_, is_forced ? forced : available_isas().back());
}

TEST_F(DispatchTest, SetIsaSwitchesTheTable) {
  index_t width = 0;
  for (const std::string& isa : available_isas()) {
    set_isa(isa);
    EXPECT_EQ(current_isa(), isa);
    EXPECT_GE(kernels::table<float>().lanes, width) << "no set is narrower than the one before";
    width = kernels::table<float>().lanes;
  }
}

TEST_F(DispatchTest, AnUnknownNameIsAnErrorThatNamesTheChoices) {
  try {
    set_isa("sse9");
    FAIL() << "nothing was thrown";
  } catch (const std::invalid_argument& error) {
    const std::string text = error.what();
    EXPECT_TRUE(text.ends_with("got 'sse9'")) << text;
    for (const std::string& isa : available_isas()) {
      EXPECT_NE(text.find(isa), std::string::npos) << text << " does not offer " << isa;
    }
  }
  EXPECT_EQ(current_isa(), initial_);
}

TEST_F(DispatchTest, DotProductsCanBeForbidden) {
  const char* value = std::getenv("TESSERA_DOT_PRODUCTS");
  const bool forbidden = value != nullptr && std::string(value) == "0";
  const bool before = dot_products();
  EXPECT_FALSE(before && forbidden);
  set_dot_products(false);
  EXPECT_FALSE(dot_products());
  set_dot_products(true);
  EXPECT_TRUE(dot_products() || !before);
  set_isa("baseline");
  EXPECT_FALSE(dot_products()) << "no baseline has any";
  set_dot_products(!forbidden);
}

}  // namespace
}  // namespace tessera
