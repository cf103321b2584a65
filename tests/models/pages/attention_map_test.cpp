#include "models/pages/attention_page.h"

#include "models/pages/detail/attention_labels.h"
#include "tensor/create.h"
#include "tests/support/test.h"

namespace tessera::pages {
namespace {

using namespace test;

TEST(AttentionMapTest, TextForATerminal) {
  const std::vector<std::string> letters = {"a", "b"};
  EXPECT_EQ(attention_text(tensor({{0.0, 1.0}, {0.59, 0.41}}), letters),
            "         a     b\n"
            "  a      0 ██100\n"
            "  b  ▒▒ 59 ▒▒ 41\n");
  const std::vector<std::string> words = {"transformers", "\n"};
  EXPECT_EQ(attention_text(tensor({{0.2, 0.8}, {0.0, 0.0}}), words),
            "                tran…     ↵\n"
            "  transformers  ░░ 20 ██ 80\n"
            "             ↵      0     0\n");
}

TEST(AttentionMapTest, Picture) {
  const std::vector<std::string> tokens = {"<a>", "b"};
  const std::string svg =
      attention_svg(tensor({{0.25, 0.75}, {1.0, 0.0}}), tokens, "layer 0 & head 1");
  for (const char* part : {"<title id=\"title\">layer 0 &amp; head 1</title>",
                           "&lt;a&gt; at b (75 %), b at &lt;a&gt; (100 %)", "role=\"img\"",
                           "fill-opacity=\"0.500\"><title>&lt;a&gt; → &lt;a&gt;: 0.2500</title>",
                           "fill-opacity=\"0.866\"><title>&lt;a&gt; → b: 0.7500</title>",
                           "fill-opacity=\"0.000\"><title>b → b: 0.0000</title>", "</svg>"}) {
    EXPECT_TRUE(contains(svg, part));
  }
}

// Weights may be anything here: the picture says what they are.
TEST(AttentionMapTest, WeightsOfAnySize) {
  const std::vector<std::string> one = {"a"};
  const std::string svg = attention_svg(full({1, 1}, 1e300, kFloat64), one, "t");
  EXPECT_TRUE(contains(svg, ".0000</title></rect>"));
  EXPECT_FALSE(contains(svg, std::string_view("\0", 1))) << "more than was written";
}

TEST(AttentionMapTest, Labels) {
  EXPECT_EQ(shown_token(""), "∅");
  EXPECT_EQ(shown_token(" "), "␣");
  EXPECT_EQ(shown_token("a b\n\x1b\x7f"), "a b↵␛␡");
  EXPECT_EQ(shown_token("\xc2\x9bé\xff"), "\xef\xbf\xbdé\xef\xbf\xbd");
  EXPECT_EQ(shortened("äöü", 3), "äöü");
  EXPECT_EQ(shortened("äöüß", 3), "äö…");
}

TEST(AttentionMapTest, Errors) {
  const std::vector<std::string> tokens = {"a", "b"};
  for (const Tensor& wrong : {Tensor(), ones({2, 3}), ones({2}), ones({2, 2}, kInt64)}) {
    EXPECT_TRUE(throws("attention_text", {"(2, 2)"}, [&] { attention_text(wrong, tokens); }));
    EXPECT_TRUE(throws("attention_svg", {"(2, 2)"}, [&] { attention_svg(wrong, tokens, "t"); }));
  }
}

}  // namespace
}  // namespace tessera::pages
